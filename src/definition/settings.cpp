// settings.cpp - see settings.hpp.

#include "../postgres.hpp"

#include "settings.hpp"

#include "../error.hpp"
#include "../interval.hpp"
#include "../statement/statement.hpp"
#include "keep.hpp"
#include "managed.hpp"
#include "name.hpp"

namespace queue_ext::definition {

// The comment's prefix; a JSON object follows.
static constexpr char beginning[] = "queue of queue_ext: ";

// The owner may have written any other comment.
static bool
is_ours(const char *comment)
{
	return strncmp(comment, beginning, sizeof(beginning) - 1) == 0;
}

// The interval in ISO 8601 format, which has one meaning under all settings.
static char *
to_text(const Interval *interval)
{
	struct pg_itm parts;
	interval2itm(*interval, &parts);
	auto *text = static_cast<char *>(palloc(MAXDATELEN + 1));
	EncodeInterval(&parts, INTSTYLE_ISO_8601, text);
	return text;
}

// The member of the object, if jobs are not kept for ever.
static const char *
keep_text(const char *name, const Interval &keep)
{
	return is_for_ever(keep) ? "" : psprintf(", \"%s\": \"%s\"", name, to_text(&keep));
}

// The member of the object, if there is a dead queue.
static const char *
dead_queue_text(const char *dead_queue)
{
	if (dead_queue == nullptr)
		return "";
	StringInfoData member;
	initStringInfo(&member);
	appendStringInfoString(&member, ", \"dead_queue\": ");
	escape_json(&member, dead_queue);
	return member.data;
}

static const char *
on_expire_text(OnExpire on_expire)
{
	return on_expire == OnExpire::none ? ""
									   : psprintf(", \"on_expire\": \"%s\"", name_of(on_expire));
}

// Leaves an up-to-date comment alone, which saves a row version in pg_description.
void
write_comment(Oid table, const Settings &settings)
{
	const char *present = GetComment(table, RelationRelationId, 0);
	if (present != nullptr && !is_ours(present))
		return;
	const char *comment = psprintf(
		"%s{\"lease\": \"%s\", \"max_attempts\": %d, \"backoff_base\": \"%s\","
		" \"backoff_cap\": \"%s\", \"archive\": %s%s%s%s%s}",
		beginning, to_text(&settings.lease), settings.max_attempts, to_text(&settings.backoff_base),
		to_text(&settings.backoff_cap), settings.is_archived ? "true" : "false",
		keep_text("archive_keep", settings.archive_keep),
		keep_text("dead_keep", settings.dead_keep), dead_queue_text(settings.dead_queue),
		on_expire_text(settings.on_expire));
	if (present != nullptr && strcmp(present, comment) == 0)
		return;
	// CreateComments() instead of COMMENT, whose SHARE UPDATE EXCLUSIVE lock would wait for VACUUM.
	CreateComments(table, RelationRelationId, 0, comment);
	CommandCounterIncrement();
}

void
write_registered_comment(Oid table, const char *queue)
{
	Definition now{};
	if (!read_definition(table, queue, CurrentMemoryContext, &now) || !now.is_managed)
		return;
	write_comment(table, {now.lease, now.backoff_base, now.backoff_cap, now.max_attempts,
						  now.is_archived, now.archive_keep, now.dead_keep,
						  OidIsValid(now.dead_queue) ? qualified_name(now.dead_queue) : nullptr,
						  now.on_expire});
}

// Error context callback.
static void
add_context(void *table)
{
	errcontext("comment of table \"%s\"", static_cast<const char *>(table));
}

// Raises 22004 and 22023, as queue_create does for its arguments.
static Interval
interval_of(int column, const char *name)
{
	bool is_null;
	const Datum value =
		SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &is_null);
	if (is_null)
		error::null_argument(name);
	error::check_positive(name, DatumGetIntervalP(value));
	return *DatumGetIntervalP(value);
}

// Returns an interval, which is zero if it is missing. Raises 22023 for a negative one, as queue_create does
// for its arguments.
static Interval
keep_of(int column, const char *name)
{
	bool is_null;
	const Datum value =
		SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, column, &is_null);
	if (is_null)
		return {};
	error::check_not_negative(name, DatumGetIntervalP(value));
	return *DatumGetIntervalP(value);
}

// Checks and returns the row of the statement in read_comment().
static Settings
settings_of_row()
{
	HeapTuple row = SPI_tuptable->vals[0];
	const TupleDesc shape = SPI_tuptable->tupdesc;
	Settings settings{};
	settings.lease = interval_of(1, "lease");
	check_duration("lease", &settings.lease);
	settings.backoff_base = interval_of(2, "backoff_base");
	settings.backoff_cap = interval_of(3, "backoff_cap");
	bool is_null;
	settings.max_attempts = DatumGetInt32(SPI_getbinval(row, shape, 4, &is_null));
	if (is_null)
		error::null_argument("max_attempts");
	error::check_range("max_attempts", settings.max_attempts, 1, max_attempts_limit);
	settings.is_archived = DatumGetBool(SPI_getbinval(row, shape, 5, &is_null));
	if (is_null)
		error::null_argument("archive");
	settings.archive_keep = keep_of(6, "archive_keep");
	settings.dead_keep = keep_of(7, "dead_keep");
	settings.dead_queue = SPI_getvalue(row, shape, 8);
	settings.on_expire = on_expire_of(SPI_getvalue(row, shape, 9));
	if (settings.on_expire == OnExpire::archive && !settings.is_archived)
		error::expire_without_archive();
	return settings;
}

// The JSON object is $1.
static constexpr const char *read_text =
	"select (s operator(pg_catalog.->>) 'lease')::pg_catalog.interval,"
	" (s operator(pg_catalog.->>) 'backoff_base')::pg_catalog.interval,"
	" (s operator(pg_catalog.->>) 'backoff_cap')::pg_catalog.interval,"
	" (s operator(pg_catalog.->>) 'max_attempts')::pg_catalog.int4,"
	" (s operator(pg_catalog.->>) 'archive')::pg_catalog.bool,"
	" (s operator(pg_catalog.->>) 'archive_keep')::pg_catalog.interval,"
	" (s operator(pg_catalog.->>) 'dead_keep')::pg_catalog.interval,"
	" s operator(pg_catalog.->>) 'dead_queue', s operator(pg_catalog.->>) 'on_expire'"
	" from (select $1::pg_catalog.jsonb) as c(s)";

// A statement parses the JSON, so that bad text raises PostgreSQL's own errors.
bool
read_comment(Oid table, Settings *settings)
{
	const char *comment = GetComment(table, RelationRelationId, 0);
	if (comment == nullptr || !is_ours(comment))
		return false;
	ErrorContextCallback callback{};
	callback.callback = add_context;
	callback.arg = get_rel_name(table);
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	MemoryContext context = CurrentMemoryContext;
	statement::with_spi([&] {
		Oid types[] = {TEXTOID};
		Datum values[] = {CStringGetTextDatum(comment + sizeof(beginning) - 1)};
		statement::without_text(read_text, {}, [&] {
			const int result =
				SPI_execute_with_args(read_text, lengthof(types), types, values, nullptr, true, 1);
			if (result != SPI_OK_SELECT)
				elog(ERROR, "could not read a comment: %s", SPI_result_code_string(result));
		});
		*settings = settings_of_row();
		if (settings->dead_queue != nullptr)
			settings->dead_queue = MemoryContextStrdup(context, settings->dead_queue);
	});
	error_context_stack = callback.previous;
	return true;
}

} // namespace queue_ext::definition
