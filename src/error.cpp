// error.cpp - see error.hpp.

#include "error.hpp"

#include "compat.hpp"

namespace queue_ext::error {

void
null_argument(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("\"%s\" must not be null", what)));
}

void
attempt_missing(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("\"%s\" must not be null", what),
			 errhint("Specify both columns of the receipt, id and attempt, as queue_pop() returned "
					 "them.")));
}

void
null_element(const char *what)
{
	ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("\"%s\" must not contain null values", what)));
}

void
check_range(const char *what, int32 value, int32 lowest, int32 highest)
{
	if (value < lowest || value > highest)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("\"%s\" must be between %d and %d", what, lowest, highest),
						errdetail("The value is %d.", value)));
}

// Compares with interval_cmp(), which takes a month for 30 days and a day for 24 hours.
static int
sign(const Interval *value)
{
	Interval zero{};
	return DatumGetInt32(
		DirectFunctionCall2(interval_cmp, IntervalPGetDatum(value), IntervalPGetDatum(&zero)));
}

// The interval in the session's IntervalStyle, for a message.
static const char *
to_text(const Interval *value)
{
	return DatumGetCString(DirectFunctionCall1(interval_out, IntervalPGetDatum(value)));
}

// Asks for infinity first: interval_cmp() counts infinity as positive.
void
check_positive(const char *what, const Interval *value)
{
	if (!compat::interval_is_finite(value) || sign(value) <= 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("\"%s\" must be a positive interval", what),
						errdetail("The value is \"%s\".", to_text(value))));
}

void
check_not_negative(const char *what, const Interval *value)
{
	if (!compat::interval_is_finite(value) || sign(value) < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("\"%s\" must not be a negative interval", what),
						errdetail("The value is \"%s\".", to_text(value))));
}

void
length_mismatch(const char *first, int first_length, const char *second, int second_length)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("\"%s\" and \"%s\" must have the same number of elements", first, second),
			 errdetail("They have %d and %d elements.", first_length, second_length)));
}

// The SQLSTATE of PostgreSQL's own array functions.
void
not_one_dimensional(const char *what)
{
	ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
					errmsg("\"%s\" must be a one-dimensional array", what)));
}

void
unknown_state(const char *state)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"state\" must be ready, scheduled, leased, dead or done"),
					errdetail("The value is \"%s\".", state)));
}

// Looks at bytes: no server encoding has the byte of a space within another character.
bool
is_blank(const text *value)
{
	const char *bytes = VARDATA_ANY(value);
	for (int i = 0; i < static_cast<int>(VARSIZE_ANY_EXHDR(value)); i++)
		if (bytes[i] != ' ')
			return false;
	return true;
}

void
check_not_blank(const char *what, const text *value)
{
	if (is_blank(value))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("\"%s\" must not be blank", what)));
}

// The wording of aclcheck_error().
void
no_right(const char *table, const char *grants)
{
	ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					errmsg("permission denied for table %s", table),
					grants == nullptr ? 0 : errhint("%s", grant_hint(grants))));
}

void
no_right_beside_code(const char *table, const char *grants)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for table %s", table),
			 errdetail(
				 "Triggers and other code of users on the table do not run as its owner for you."),
			 errhint("%s", grant_hint(grants))));
}

void
may_fire_at_commit(const char *table)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("table \"%s\" has a trigger or constraint that may be deferred", table),
					errdetail("It could fail the commit of a worker."),
					errhint("Call queue_maintain().")));
}

void
code_of_users(const char *table)
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("table \"%s\" has triggers or other code of users", table),
			 errdetail("It does not run as the table's owner for you, nor as you for all queues."),
			 errhint("Call queue_maintain() with the queue's name, or as its owner.")));
}

char *
grant_hint(const char *grants)
{
	return psprintf("The owner can run %s.", grants);
}

// The wording of aclcheck_error().
void
no_right_on_schema(const char *schema, const char *right)
{
	const char *role = quote_identifier(GetUserNameFromId(GetUserId(), false));
	ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					errmsg("permission denied for schema %s", schema),
					errhint("The owner can run GRANT %s ON SCHEMA %s TO %s.", right,
							quote_identifier(schema), role)));
}

void
unknown_counted_state(const char *state)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"states\" must contain only ready, scheduled, leased, dead and done"),
					errdetail("Element \"%s\" is not a state of a job.", state)));
}

void
no_states()
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("\"states\" must not be empty"),
			 errdetail("No job would count as a duplicate, so that every job would be inserted."),
			 errhint("Use queue_send(), or specify states: '{ready,scheduled,leased}'.")));
}

void
period_of_months(const Interval *period)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("\"period\" must not contain months or years"),
					errdetail("The length of \"%s\" varies.", to_text(period)),
					errhint("Use days, or put the month into the payload and its key into "
							"\"unique_by\".")));
}

void
period_too_long(const Interval *period)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("\"period\" is too long"),
					errdetail("The value is \"%s\".", to_text(period)),
					errhint("Omit \"period\" for uniqueness without a time limit.")));
}

void
names_too_long(const char *what, int most)
{
	ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("\"%s\" is too long", what),
					errdetail("Its JSON representation is longer than %d bytes.", most)));
}

void
payload_is_no_object()
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("cannot apply \"unique_by\" to a payload that is not an object"),
					errhint("Omit \"unique_by\" to compare the whole payload.")));
}

void
payload_lacks_keys(const char *keys)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("payload has none of the keys in \"unique_by\""),
			 keys[0] == '\0' ? errhint("The payload is an empty object.")
							 : errhint("The keys of the payload are %s. Where a key is missing on "
									   "purpose, give it as null.",
									   keys)));
}

// The history has no policies of its own; hence the refusal, see "Security" in design-hostile.md.
void
done_under_row_security(const char *table)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot count done jobs under row-level security"),
			 errdetail("Table \"%s\" has policies that apply to you; they do not "
					   "cover the history of done jobs.",
					   table),
			 errhint("Specify only the other states: states => '{ready,scheduled,leased,dead}'.")));
}

void
changed_under_row_security(const char *table)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot change a job that is there under row-level security"),
			 errdetail("Table \"%s\" has policies that apply to you or to its owner; none of them "
					   "says which jobs a sender may change.",
					   table),
			 errhint("Leave out \"on_conflict\", or call as a role to which no policy applies.")));
}

void
changed_beside_queue(const char *queue, const char *table)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("cannot change a job that is there where the table has another queue"),
		 errdetail(
			 "Table \"%s\" has another queue beside \"%s\", by which a worker may have the job.",
			 table, queue),
		 errhint("Leave out \"on_conflict\".")));
}

void
forget_under_row_security(const char *table)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("cannot purge the history of done jobs under row-level security"),
					errdetail("Table \"%s\" has policies that apply to you; they do not "
							  "cover the history of done jobs.",
							  table),
					errhint("Use the owner of the table, or a role with BYPASSRLS.")));
}

// A null or literal of unknown type has no type to name.
void
not_a_table_row(const char *what, Oid type)
{
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("\"%s\" must have the row type of a table", what),
					OidIsValid(type) ? errdetail("Its type is %s.", format_type_be(type)) : 0,
					errhint("Specify a row of the table: ROW(...)::the_table, or "
							"jsonb_populate_record(NULL::the_table, ...).")));
}

// PostgreSQL has the detail for each relkind.
void
cannot_insert_into(const char *name, char kind)
{
	ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
					errmsg("cannot insert unique rows into \"%s\"", name),
					errdetail_relkind_not_supported(kind)));
}

// The wording of an INSERT that names such a column.
void
no_such_column(const char *table, const char *column)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
					errmsg("column \"%s\" of relation \"%s\" does not exist", column, table)));
}

void
no_times(const char *table, const char *column, Oid type, const char *argument)
{
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("column \"%s\" of relation \"%s\" is of type %s", column, table,
						   format_type_be(type)),
					errhint("Set %s to a column of type timestamp with time zone.", argument)));
}

void
no_equality(const char *column, Oid type)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
					errmsg("cannot compare values of column \"%s\"", column),
					errdetail("Type %s has no equality operator.", format_type_be(type))));
}

// ereport() at WARNING without errcode() has SQLSTATE 01000.
void
warn_no_unique_index(const char *table, const char *command)
{
	ereport(WARNING, (errmsg("no index supports the duplicate check on %s", table),
					  errdetail("Each unique insert may have to scan the whole table."),
					  errhint("Run %s", command)));
}

// The text, or so much of its beginning that any name of a table is whole, whatever the library has added to it: a
// message also goes into the server's log.
static const char *
clipped(const char *text)
{
	// A schema and a table, quoted, each of whose bytes is a quote that is doubled.
	constexpr int most_bytes = 2 * (2 * (NAMEDATALEN - 1) + 2) + 1;
	const int length = static_cast<int>(strlen(text));
	const int shown = pg_mbcliplen(text, length, most_bytes);
	return shown == length ? text : psprintf("%.*s...", shown, text);
}

void
invalid_name(const char *text)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_INVALID_NAME), errmsg("invalid queue name: \"%s\"", clipped(text)),
		 errhint(
			 "A queue name is the name of a table, such as emails, jobs.emails or \"E-Mails\".")));
}

void
name_too_long(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_NAME_TOO_LONG), errmsg("name \"%s\" is too long", clipped(name)),
			 errdetail("It has %zu bytes; a name has at most %d.", strlen(name), NAMEDATALEN - 1)));
}

// The hint has the name as a literal, so that it can be run as it is.
void
no_such_queue(const char *text)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", text),
			 errhint("Create it with queue_create(%s), or queue_attach() for a table of your own.",
					 quote_literal_cstr(text))));
}

void
queue_ended(const char *queue)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
					errmsg("queue \"%s\" was dropped or detached during the call", queue)));
}

void
queue_in_other_schema(const char *text, const char *schema, const char *full)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", text),
					errdetail("A queue of that name is in schema \"%s\".", schema),
					errhint("Specify %s.", quote_literal_cstr(full))));
}

void
queue_outside_path(const char *text, const char *schema, const char *full)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", text),
		 errdetail("A queue of that name is in schema \"%s\", which is not in \"search_path\".",
				   schema),
		 errhint("Specify %s, or add the schema to \"search_path\".", quote_literal_cstr(full))));
}

// PostgreSQL, too, passes over a schema of the search path without USAGE.
void
queue_in_closed_schema(const char *text, const char *schema)
{
	const char *role = GetUserNameFromId(GetUserId(), false);
	ereport(
		ERROR,
		(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", text),
		 errdetail("A queue of that name is in schema \"%s\", on which role \"%s\" has no USAGE "
				   "privilege.",
				   schema, role),
		 errhint("The owner can run GRANT USAGE ON SCHEMA %s TO %s.", quote_identifier(schema),
				 quote_identifier(role))));
}

void
queue_of_other_case(const char *text, const char *name, const char *spelling)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", text),
					errdetail("The name of queue \"%s\" differs in case.", name),
					errhint("Specify %s.", quote_literal_cstr(spelling))));
}

void
queue_left_behind(const char *text)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", text),
					errdetail("A table of that name has the layout of a managed queue."),
					errhint("Register it again with queue_adopt(%s).", quote_literal_cstr(text))));
}

void
table_left_behind(const char *name, const char *text)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_TABLE), errmsg("relation \"%s\" already exists", name),
			 errdetail("It has the layout of a managed queue."),
			 errhint("Register it again with queue_adopt(%s).", quote_literal_cstr(text))));
}

void
no_table_to_adopt(const char *name, const char *text)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation \"%s\" does not exist", name),
			 errhint("Create a queue with its table with queue_create(%s).",
					 quote_literal_cstr(text))));
}

// The cause is an event trigger, or another session that renames a schema.
void
gone_during_command(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("relation \"%s\" was dropped or renamed during the command", name),
			 errhint("Retry the command. If it fails again, check for event triggers that drop"
					 " or rename tables.")));
}

void
table_is_managed(const char *table, const char *queue)
{
	ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
					errmsg("table \"%s\" belongs to queue \"%s\"", table, queue)));
}

void
not_a_queues_table(const char *table, const char *fault)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" does not have the layout of a managed queue", table),
			 errdetail("%s", fault), errhint("Use queue_attach() for a table of your own.")));
}

void
column_in_the_way(const char *table, const char *column, const char *need)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("column \"%s\" of table \"%s\" is not that of a managed queue", column, table),
			 errdetail("%s", need), errhint("Rename your own column, and all that names it.")));
}

void
column_changed(const char *table, const char *column, Oid type, const char *qualified)
{
	const char *name = format_type_be(type);
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("column \"%s\" of table \"%s\" is not of type %s", column, table, name),
					errhint("Run ALTER TABLE %s ALTER COLUMN %s TYPE %s.", qualified,
							quote_identifier(column), name)));
}

void
queue_exists(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("queue \"%s\" already exists", name)));
}

// The registry's key is (name, source), so ALTER TABLE ... SET SCHEMA can move a table beside that
// of another queue of the same name.
void
ambiguous_queue(const char *text)
{
	ereport(ERROR,
			(errcode(ERRCODE_AMBIGUOUS_ALIAS), errmsg("queue name \"%s\" is ambiguous", text),
			 errdetail("Two queues of this name have their tables in the same schema."),
			 errhint("Move one of the tables to another schema with ALTER TABLE ... SET "
					 "SCHEMA.")));
}

void
archive_missing(const char *name, const char *text)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		 errmsg("archive table of queue \"%s\" does not exist", name),
		 errhint(
			 "Create a new one with queue_alter(%s, archive => true), or turn archiving off with "
			 "archive => false.",
			 quote_literal_cstr(text))));
}

void
no_archive_for_result(const char *name, const char *text)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		 errmsg("queue \"%s\" has no archive to keep a result", name),
		 errhint("Give it one with queue_alter(%s, archive => true), or complete without a result.",
				 quote_literal_cstr(text))));
}

void
archive_without_results(const char *name, const char *text, const char *archive)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("archive of queue \"%s\" cannot keep a result", name),
			 errdetail("The table %s has no column \"result\" of type jsonb, nullable.", archive),
			 errhint("Add it with queue_upgrade(%s), as the owner of both tables.",
					 quote_literal_cstr(text))));
}

void
keep_without_archive()
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"archive_keep\" needs an archive"), errhint("Add archive => true.")));
}

void
unknown_on_expire(const char *name)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"on_expire\" must be dead, archive or delete"),
					errdetail("The value is \"%s\".", name)));
}

void
expire_without_archive()
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"on_expire\" cannot be archive without an archive"),
					errhint("Add archive => true, or another on_expire.")));
}

void
two_expiries()
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"expires_at\" and \"expires_in\" exclude each other"),
					errhint("Give one of them.")));
}

void
no_on_expire(const char *queue, const char *text)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("queue \"%s\" does not say what becomes of jobs that expire", queue),
					errhint("Run queue_alter(%s, on_expire => 'dead'), or 'archive', or 'delete'.",
							quote_literal_cstr(text))));
}

void
expired_suppressed(const char *table)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("a trigger of table %s has suppressed the end of an expired job", table),
					errhint("Let it return the row, or drop it.")));
}

// The second line is for the log alone, where the client is not to see what the error says of a row.
static int
cause_details(const ErrorData *cause)
{
	if (cause->detail_log != nullptr)
		errdetail_log("%s\n%s", cause->message, cause->detail_log);
	if (cause->hint != nullptr)
		errhint("%s", cause->hint);
	return errdetail_internal("%s", cause->message);
}

void
log_expired_not_ended(const char *table, const ErrorData *cause)
{
	ereport(LOG, (errcode(cause->sqlerrcode),
				  errmsg("could not end expired jobs of table %s as its queue says", table),
				  cause_details(cause)));
}

void
result_of_no_job()
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"result\" needs \"done_id\" and \"done_attempt\"")));
}

// Compares the first two parts of the versions; a third part, or a suffix, does not count.
static int
compare_versions(const char *left, const char *right)
{
	int parts[2][2] = {};
	(void) sscanf(left, "%d.%d", &parts[0][0], &parts[0][1]);
	(void) sscanf(right, "%d.%d", &parts[1][0], &parts[1][1]);
	return parts[0][0] != parts[1][0] ? parts[0][0] - parts[1][0] : parts[0][1] - parts[1][1];
}

// The hint follows from the order: an older extension needs ALTER EXTENSION, an older library needs
// a new session, and with equal versions the relation has been altered.
void
version_mismatch(const char *relation, const char *installed, const char *library)
{
	const int order = compare_versions(installed, library);
	ereport(
		ERROR,
		(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		 errmsg("relation \"%s\" of extension \"queue_ext\" does not match the library", relation),
		 errdetail("The extension has version %s in this database, the library of this "
				   "session has version %s.",
				   installed, library),
		 order < 0 ? errhint("Run ALTER EXTENSION queue_ext UPDATE.")
		 : order > 0
			 ? errhint("Reconnect, so that the session loads the library that is installed "
					   "now; if it is the same, install the newer one, and restart the "
					   "server where the library is preloaded.")
			 : errhint(
				   "Revert the changes that were made to it; only the extension may change it.")));
}

void
not_created()
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("extension \"queue_ext\" is not created in this database"),
					errhint("Run CREATE EXTENSION queue_ext.")));
}

void
not_an_expression(const char *label)
{
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR), errmsg("\"%s\" must be a single expression", label)));
}

void
not_an_order(const char *label)
{
	ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
					errmsg("\"%s\" must be an ORDER BY list of expressions", label),
					errhint("Use the syntax of ORDER BY, without column numbers: priority, "
							"created_at desc.")));
}

void
not_assignments(const char *label)
{
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("\"%s\" must be a SET list of single columns", label),
			 errhint("Use the syntax of UPDATE ... SET: state = 'running', started_at = now().")));
}

void
begins_with_clause(const char *label, const char *clause, int position)
{
	ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
					errmsg("\"%s\" must not begin with \"%s\"", label, clause),
					errhint("Leave out \"%s\".", clause), errposition(position)));
}

void
fragment_has_parameter(const char *label, const char *variables)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_PARAMETER), errmsg("\"%s\" must not have parameters", label),
			 errhint("Refer to the variables %s by name.", variables)));
}

void
fragment_locks_rows(const char *label)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("\"%s\" must not lock rows of other tables", label)));
}

void
fragment_is_not_scalar(const char *label)
{
	ereport(ERROR,
			(errcode(ERRCODE_GROUPING_ERROR),
			 errmsg("\"%s\" must not have aggregate, window or set-returning functions", label)));
}

// The wording of the rewriter, which would raise this for an UPDATE.
void
assigned_twice(const char *column)
{
	ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
					errmsg("multiple assignments to same column \"%s\"", column)));
}

void
assigned_generated(const char *column)
{
	ereport(ERROR, (errcode(ERRCODE_GENERATED_ALWAYS),
					errmsg("cannot assign to generated column \"%s\"", column)));
}

void
assigned_identity(const char *column)
{
	ereport(ERROR,
			(errcode(ERRCODE_GENERATED_ALWAYS),
			 errmsg("cannot assign to identity column \"%s\" that is always generated", column)));
}

void
still_pending(const char *queue, const char *pending, const char *on_claim)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"on_claim\" of queue \"%s\" leaves a claimed row pending", queue),
					errhint("Make \"pending\" (%s) false by what \"on_claim\" (%s) writes.",
							pending, on_claim)));
}

void
unknown_claim_mode(const char *mode)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"claim_mode\" must be update, transaction or session"),
					errdetail("The value is \"%s\".", mode)));
}

void
on_claim_missing()
{
	ereport(
		ERROR,
		(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		 errmsg("claim mode \"update\" requires \"on_claim\""),
		 errhint("Specify what a claim writes, so that the row is no longer pending, or use claim "
				 "mode transaction or session, which write nothing.")));
}

void
on_claim_unused(const char *mode)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("claim mode \"%s\" cannot have \"on_claim\"", mode),
					errdetail("A claim in this mode is a lock and writes nothing.")));
}

void
no_such_table(Oid table)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
					errmsg("relation with OID %u does not exist", table)));
}

void
invalid_ticket()
{
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("invalid ticket"),
			 errhint("Call the function of the queue, which takes a ticket for each call.")));
}

void
connection_timed_out()
{
	ereport(ERROR, (errcode(ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
					errmsg("could not establish connection"),
					errdetail("The server did not answer in time.")));
}

void
no_jsonb()
{
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("the statement must return a value of type jsonb")));
}

// Without rows SPI_tuptable is null, and no caller could read its answer.
void
rewritten()
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("a rule has rewritten the statement to another command"),
					errhint("Replace the rule with a trigger.")));
}

// A held row is found by the text of its key, which must not change with DateStyle and the like.
void
key_without_text(const char *table, Oid type)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot lock rows of \"%s\" by their key", table),
			 errdetail("The text representation of type %s depends on settings of the session.",
					   format_type_be(type)),
			 errhint("Use claim mode update.")));
}

void
not_a_table(const char *name, char kind)
{
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("cannot use \"%s\" as a queue", name),
			 errdetail_relkind_not_supported(kind)));
}

void
cannot_attach(const char *name, const char *reason)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("cannot use \"%s\" as a queue", name), errdetail("%s", reason)));
}

// Of Citus, which keeps the rows of such a table elsewhere (catalog/citus.hpp).
void
distributed(const char *table)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot use \"%s\", which Citus has distributed", table),
			 errdetail("Its rows are in shards: other tables, on this server or on others."),
			 errhint("Use a table that Citus does not distribute, such as queue_create() makes, or "
					 "attach the shards, each on its node; or spread the queue over servers as "
					 "doc/scale-out.md says.")));
}

void
not_in_schema(const char *queue, const char *schema)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("queue \"%s\" must be in the schema of its table", queue),
					errhint("Omit the schema, or use \"%s\".", schema)));
}

// Without a command no index can identify the rows, so the obstacle is the detail instead.
void
no_key(const char *table, const char *command, const char *obstacle)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("table \"%s\" has no key that identifies its rows", table),
			 command == nullptr ? errdetail("%s", obstacle) : 0,
			 command == nullptr ? errhint("Attach the tables that contain its rows individually.")
								: errhint("Run %s", command)));
}

// Null is equal to nothing, so the receipt would match no row.
void
null_in_key(const char *table, const char *column)
{
	ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("null value in column \"%s\" does not identify a row of table \"%s\"",
						   column, table),
					errhint("Finish such a row with an UPDATE or DELETE.")));
}

// Without the text, which may be long, and is of no help.
void
malformed_receipt(const char *fault)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("invalid receipt"),
					errdetail("%s", fault),
					errhint("Pass the text that queue_receipt() returned, unchanged.")));
}

void
receipt_of_other(const char *queue)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					errmsg("receipt does not belong to queue \"%s\"", queue),
					errhint("Pass it with the queue that queue_receipt() had, in the same "
							"database.")));
}

void
receipt_outdated(const char *queue)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
					errmsg("receipt of queue \"%s\" is outdated", queue),
					errdetail("The key of its table, the claim mode, or the columns that "
							  "\"on_claim\" writes have changed."),
					errhint("Finish the row itself, as by queue_complete_row().")));
}

void
receipt_too_long(const char *queue, int most)
{
	ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					errmsg("receipt of queue \"%s\" is too long", queue),
					errdetail("It has more than %d bytes.", most),
					errhint("Let \"on_claim\" write smaller values, or use the functions that "
							"take the row, such as queue_complete_row().")));
}

void
inexact_binary(const char *column, Oid type)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("cannot write the value of column \"%s\" into a receipt", column),
					errdetail("The binary form of this value of type %s is not exact.",
							  format_type_be(type)),
					errhint("Use the functions that take the row, such as "
							"queue_complete_row().")));
}

void
not_managed(const char *queue, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("queue \"%s\" is not a managed queue", queue), errhint("%s", hint)));
}

void
wake_needed(const char *queue)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("queue \"%s\" is a managed queue", queue),
					errhint("Its table needs the trigger queue_ext_wake: omit wake.")));
}

void
ages_known(const char *queue)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("queue \"%s\" is a managed queue", queue),
					errhint("How old its jobs are is known: omit ready_at and claimed_at.")));
}

void
every_or_cron()
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("either \"every\" or \"cron\" must be given"),
			 errhint("Give an interval, such as every => '1 hour', or a cron expression, such "
					 "as cron => '30 2 * * *'.")));
}

void
check_schedule_name(const char *name)
{
	constexpr int most = 255;
	if (name[strspn(name, " ")] == '\0')
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the name of a schedule must not be blank")));
	if (strlen(name) > most)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the name of a schedule must not be longer than %d bytes", most)));
}

// Longer than all values of all fields. It is read again at each claim, and is in messages.
void
check_cron_length(const char *text)
{
	constexpr int most = 1000;
	if (strlen(text) > most)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("a cron expression must not be longer than %d bytes", most)));
}

void
unknown_missed(const char *name)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"%s\" is no rule for missed occurrences", name),
					errhint("\"missed\" is once, skip or all.")));
}

void
unknown_on_conflict(const char *name)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"on_conflict\" must be keep, replace or postpone"),
					errdetail("The value is \"%s\".", name)));
}

void
max_delay_without_postpone()
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"max_delay\" is for jobs that are postponed"),
					errhint("Add on_conflict => 'postpone', or leave \"max_delay\" out.")));
}

void
postponed_without_time()
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("\"run_at\" must not be null"),
			 errdetail("It is the time to which on_conflict => 'postpone' moves a job that waits."),
			 errhint("Pass run_at => now() + interval '1 minute'.")));
}

void
unknown_time_zone(const char *name)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("time zone \"%s\" not recognized", name),
					errhint("The view pg_timezone_names has the names of time zones.")));
}

void
bad_cron(const char *text, const char *reason, const char *field, const char *part)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		 field == nullptr
			 ? errmsg("\"%s\" is no cron expression", text)
			 : errmsg("\"%s\" is no cron expression: its field \"%s\" is wrong", text, field),
		 field == nullptr ? errdetail("%s", reason) : errdetail("It is \"%s\". %s", part, reason),
		 errhint("It has five fields: minute, hour, day of the month, month, day of the "
				 "week.")));
}

void
check_parts(const char *what, const Interval *value)
{
	if (value->month >= 0 && value->day >= 0 && value->time >= 0)
		return;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("no part of \"%s\" may be negative", what),
					errdetail("The value is \"%s\".", to_text(value))));
}

void
every_too_short(const Interval *every)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"every\" must be one second or longer"),
					errdetail("The value is \"%s\".", to_text(every))));
}

void
moment_out_of_range()
{
	ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
					errmsg("timestamp of the next occurrence out of range")));
}

void
check_kind(const text *kind)
{
	constexpr Size most = 255;
	const Size length = VARSIZE_ANY_EXHDR(kind);
	if (length < 1 || length > most)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the kind of a job must have 1 to %zu bytes", most),
						errdetail("It has %zu.", length)));
}

[[noreturn]] static void
length_out_of_range(const char *what, int count, int most, const char *hint)
{
	if (count == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("\"%s\" must not be empty", what), errhint("%s", hint)));
	ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					errmsg("\"%s\" must not have more than %d elements", what, most),
					errdetail("It has %d.", count)));
}

void
kinds_out_of_range(int count, int most)
{
	length_out_of_range("kinds", count, most, "Omit it to take jobs of every kind.");
}

void
queues_out_of_range(int count, int most)
{
	length_out_of_range("queues", count, most,
						"Give the names of the queues, the first ones first.");
}

void
no_kind_index(const char *queue, const char *text)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("queue \"%s\" has no index by kind", queue),
			 errhint("Create it with queue_alter(%s, kinds => true).", quote_literal_cstr(text))));
}

void
no_kinds(const char *queue, const char *text)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("the table of queue \"%s\" has no column \"kind\"", queue),
					errhint("Run queue_upgrade(%s).", quote_literal_cstr(text))));
}

void
no_fragment(const char *queue, const char *label)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("queue \"%s\" has no \"%s\"", queue, label),
					errhint("Attach it with %s => '...'.", label)));
}

void
retries_always(const char *queue)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("\"on_fail\" of queue \"%s\" does not read \"retry\"", queue),
			 errdetail("So nothing says what becomes of a row that is not to be tried again."),
			 errhint("Attach it with an assignment such as on_fail => 'state = case when retry"
					 " then ''new'' else ''dead'' end'.")));
}

void
column_missing(const char *queue, const char *column, const char *text)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("the table of queue \"%s\" has no column \"%s\"", queue, column),
					errhint("Run queue_upgrade(%s).", quote_literal_cstr(text))));
}

void
keeps_no_progress(const char *queue)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("\"on_extend\" of queue \"%s\" does not read \"new_progress\"", queue),
					errdetail("So nothing says where the progress is kept."),
					errhint("Attach it with an assignment such as on_extend =>"
							" 'progress = coalesce(new_progress, progress)'.")));
}

void
wrong_row_type(const char *queue, Oid expected, Oid given)
{
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("row does not belong to the table of queue \"%s\"", queue),
					errdetail("Its type is %s, not %s.", format_type_be(given),
							  format_type_be(expected))));
}

void
row_type_changed(Oid type)
{
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("columns of %s have changed since the row was constructed",
						   format_type_be(type)),
					errhint("Retry the statement.")));
}

void
not_a_row_type(Oid type)
{
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("\"source\" must have the row type of a table"),
					OidIsValid(type) ? errdetail("Its type is %s.", format_type_be(type)) : 0,
					errhint("Specify NULL::the_table.")));
}

void
no_queue_on_table(Oid table)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
					errmsg("table \"%s\" does not belong to a queue", get_rel_name(table)),
					errhint("Attach it with queue_attach().")));
}

// The code is that of an ambiguous function call: the argument "queue" would resolve it.
void
many_queues_on_table(Oid table)
{
	ereport(ERROR, (errcode(ERRCODE_AMBIGUOUS_FUNCTION),
					errmsg("table \"%s\" belongs to more than one queue", get_rel_name(table)),
					errhint("Specify the queue: queue => '...'.")));
}

// Their advisory locks could only be released now, before others can see that the jobs are done.
void
cannot_prepare()
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("cannot PREPARE a transaction that has finished jobs of a queue in "
						   "session mode")));
}

void
cannot_commit(const char *procedure, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
			 errmsg("%s cannot run inside a transaction block, a function or a block that handles "
					"exceptions",
					procedure),
			 errdetail("It commits before it waits."), errhint("%s", hint)));
}

void
cannot_commit_batches(const char *procedure)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
			 errmsg("%s cannot run inside a transaction block, a function or a block that handles "
					"exceptions",
					procedure),
			 errdetail("It commits after each batch of jobs."),
			 errhint("Call it outside a transaction block.")));
}

void
nothing_to_change()
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("\"priority\" and \"run_at\" are both null"),
					errhint("Give one of them: priority => 10, or run_at => now().")));
}

void
queue_replaced(const char *queue)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
					errmsg("the table of queue \"%s\" was replaced during the command", queue),
					errdetail("The batches before that are done."),
					errhint("Call the procedure again if the condition is meant for the queue that "
							"has the name now.")));
}

void
cannot_wait(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
			 errmsg("cannot wait for a job in this transaction"), errdetail_internal("%s", detail),
			 errhint("Call queue_wait() outside a transaction block, or as the first "
					 "statement of a transaction in READ COMMITTED.")));
}

// The wording of PostgreSQL's own trigger functions.
void
not_a_trigger_call(const char *function)
{
	ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
					errmsg("function \"%s\" was not called by trigger manager", function)));
}

// The wording of PostgreSQL's own trigger functions.
void
wake_trigger_misplaced()
{
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("function \"%s\" must be fired AFTER INSERT, UPDATE or DELETE", "queue_wake"),
			 errhint("Use queue_attach(..., wake => true), which creates the trigger.")));
}

void
no_such_resource(const char *resource)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
					errmsg("throttled resource \"%s\" does not exist", resource),
					errhint("Create it with throttle_create(%s, throttle_interval => '1 minute').",
							quote_literal_cstr(resource))));
}

void
resource_exists(const char *resource)
{
	ereport(ERROR, (errcode(ERRCODE_DUPLICATE_OBJECT),
					errmsg("throttled resource \"%s\" already exists", resource),
					errhint("Change it with throttle_alter().")));
}

void
blank_details()
{
	ereport(ERROR, (errcode(ERRCODE_CHECK_VIOLATION), errmsg("\"details\" must not be blank"),
					errhint("Specify who locks the resource: a host, a process, a job.")));
}

// The insert raised nothing: a trigger or a policy may have suppressed the row.
void
lock_not_made(const char *task_id)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("could not create lock \"%s\"", task_id),
					errdetail("Table \"named_lock\" has no such row after an insert."),
					errhint("Look for a trigger or a policy on the table \"named_lock\" that "
							"suppresses or hides rows, and for sessions that delete them.")));
}

void
warn_no_index(const char *queue, const char *command)
{
	ereport(WARNING, (errmsg("no index supports claims of queue \"%s\"", queue),
					  errdetail("A claim may have to read rows that are not pending."),
					  errhint("Run %s", command)));
}

void
warn_session_zone(const char *queue, const char *use)
{
	ereport(WARNING,
			(errmsg("\"pending\" of queue \"%s\" depends on the time zone of the session", queue),
			 errdetail("%s", use),
			 errhint("Make the column one of type timestamp with time zone, or say which zone is "
					 "meant, with AT TIME ZONE.")));
}

void
notice_takes_no_dead(const char *queue, const char *from)
{
	ereport(
		NOTICE,
		(errmsg("queue \"%s\" is the dead queue of other queues", queue),
		 errdetail("From now on dead jobs stay in %s.", from),
		 errhint("Give them another one with queue_alter(queue, dead_queue => ...), or none with"
				 " dead_queue => ''.")));
}

// The reason becomes a sentence.
void
notice_path(const char *queue, const char *path, const char *reason, const char *hint)
{
	char *sentence = psprintf("%s.", reason);
	sentence[0] = static_cast<char>(pg_ascii_toupper(static_cast<unsigned char>(sentence[0])));
	ereport(NOTICE, (errmsg("claims of queue \"%s\" take the path \"%s\"", queue, path),
					 errdetail("%s", sentence), hint == nullptr ? 0 : errhint("%s", hint)));
}

void
note_progress(const char *queue, const char *done, int64 jobs, int64 id, int64 highest)
{
	ereport(NOTICE, (errmsg("%s %lld jobs of queue \"%s\" so far", done,
							static_cast<long long>(jobs), queue),
					 errdetail("The call has come to id %lld of %lld.", static_cast<long long>(id),
							   static_cast<long long>(highest))));
}

// With the SQLSTATE of the error, whose words may be those of the owner's trigger.
void
warn_not_maintained(const char *queue, const ErrorData *error)
{
	ereport(WARNING, (errcode(error->sqlerrcode), errmsg("queue \"%s\" was not maintained", queue),
					  cause_details(error)));
}

void
log_slot_not_cleared(const char *queue, const ErrorData *cause)
{
	ereport(LOG,
			(errcode(cause->sqlerrcode),
			 errmsg("could not clear the archive of queue \"%s\"", queue), cause_details(cause)));
}

void
own_dead_queue(const char *queue)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("queue \"%s\" cannot be its own dead queue", queue),
					errhint("Create another one for its dead jobs, with queue_create().")));
}

void
dead_queue_temporary(const char *queue)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("temporary queue \"%s\" can only take dead jobs of a temporary queue", queue),
			 errdetail("Other sessions cannot move theirs into it."),
			 errhint("Create one that is not temporary.")));
}

void
dead_queue_of_other(const char *queue, const char *table, Oid owner)
{
	const char *role = GetUserNameFromId(owner, false);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("queue \"%s\" cannot take dead jobs of a queue with another owner", queue),
			 errdetail("They are moved as the owner of both, which would be \"%s\".", role),
			 errhint("Create it as that role, or run ALTER TABLE %s OWNER TO %s;", table,
					 quote_identifier(role))));
}

void
warn_dead_queue_missing(const char *queue, const char *written, const char *dead_queue)
{
	ereport(WARNING, (errmsg("queue \"%s\" has no dead queue any more", queue),
					  errdetail("Its comment names \"%s\", which is no table that can take its "
								"dead jobs, or cannot be looked up.",
								dead_queue),
					  errhint("Set it with queue_alter(%s, dead_queue => ...).",
							  quote_literal_cstr(written))));
}

void
dead_jobs_suppressed(const char *table)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("a trigger of table %s has suppressed a dead job", table),
					errhint("Let it return the row, or drop it.")));
}

void
removal_suppressed(const char *table)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("a trigger, rule or policy has kept a dead job in table %s", table),
					errhint("Let it remove the row, or drop it.")));
}

// Hints and lines of context may have the value, too.
void
hide_message(ErrorData *error)
{
	const char *parts[] = {error->detail_log != nullptr ? error->detail_log : error->detail,
						   error->hint, error->context};
	StringInfoData logged;
	initStringInfo(&logged);
	appendStringInfoString(&logged, error->message);
	for (const char *part : parts)
		if (part != nullptr)
			appendStringInfo(&logged, "\n%s", part);
	error->message_id = "a statement that ran as the owner of the table failed";
	error->message = pstrdup(error->message_id);
	error->detail = nullptr;
	error->detail_log = logged.data;
	error->hint =
		pstrdup("See the server's log for the error, whose message may have values of rows.");
	error->context = nullptr;
}

void
log_dead_not_moved(const char *table, const char *dead_queue, const ErrorData *cause)
{
	ereport(LOG, (errcode(cause->sqlerrcode),
				  errmsg("could not move dead jobs of table %s to dead queue %s", table,
						 dead_queue == nullptr ? "" : dead_queue),
				  cause_details(cause)));
}

void
warn_index_excess(const char *index, const char *queue, int excess, const char *command)
{
	ereport(WARNING,
			(errmsg("index \"%s\" leads claims of queue \"%s\" past rows that are not pending",
					index, queue),
			 errdetail("It has more than %d rows for each pending one.", excess),
			 errhint("Run %s", command)));
}

// Not translated (errmsg_internal()): the tests count these messages.
void
debug_compiling_queue(const char *table, const char *queue)
{
	ereport(DEBUG1, (errmsg_internal("compiling queue \"%s\" of table %s", queue, table)));
}

void
debug_compiling_rule(const char *table)
{
	ereport(DEBUG1, (errmsg_internal("compiling rule for unique rows of table %s", table)));
}

} // namespace queue_ext::error
