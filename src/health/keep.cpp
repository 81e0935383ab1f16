// keep.cpp - see keep.hpp.
//
// Jobs are to be removed within a sixth of their keep after its end, and those of a slot with the last of
// it, another sixth later (definition/keep.hpp). So what is past its keep by a third is left behind.

#include "../postgres.hpp"

#include "keep.hpp"

#include "../definition/keep.hpp"
#include "../row/rights.hpp"
#include "job_rows.hpp"
#include "unlocked.hpp"

namespace queue_ext::health {

// The moment before which jobs should have been removed.
static TimestampTz
limit_of(const Subject &subject, const Interval &keep)
{
	return definition::cutoff_of(keep, subject.now()) -
		   Max(2 * definition::period_length(keep), patience_us());
}

// When the first was archived, of those that can be found without reading the archive. Without slots that
// is the job of the lowest id.
static TimestampTz
oldest_archived(const definition::Definition *definition)
{
	const Oid archive = definition->archive;
	TimestampTz oldest = DT_NOEND;
	if (!row::may_read_all(archive))
		return oldest;
	const List *tables = definition->has_slots ? find_inheritance_children(archive, NoLock)
											   : list_make1_oid(archive);
	ListCell *cell;
	foreach (cell, tables)
		with_unlocked(lfirst_oid(cell), RELKIND_RELATION,
					  [&](Relation table) { oldest = Min(oldest, oldest_finished(table)); });
	return oldest;
}

static void
tell(const Subject &subject, const char *what, TimestampTz since)
{
	subject.put({"keep_overdue", Severity::info,
				 psprintf("It still has jobs %s %s, which need not be kept: nobody calls "
						  "queue_maintain().",
						  what, moment_text(since)),
				 psprintf("CALL queue_maintain(%s);", quote_literal_cstr(subject.name))});
}

void
check_keep(const Subject &subject, Relation table)
{
	const definition::Definition *definition = subject.definition;
	if (definition->is_archived && definition->archive_name != nullptr &&
		!definition::is_for_ever(definition->archive_keep)) {
		const TimestampTz oldest = oldest_archived(definition);
		if (oldest < limit_of(subject, definition->archive_keep)) {
			tell(subject, "archived on", oldest);
			return;
		}
	}
	JobColumns columns;
	if (definition::is_for_ever(definition->dead_keep) || !subject.may_read ||
		!find_job_columns(table, &columns))
		return;
	const Oid index = find_job_indexes(table, columns).dead;
	const TimestampTz oldest =
		OidIsValid(index) ? oldest_time(table, index, columns.dead_at) : DT_NOEND;
	if (oldest < limit_of(subject, definition->dead_keep))
		tell(subject, "that died on", oldest);
}

} // namespace queue_ext::health
