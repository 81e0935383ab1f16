// error.hpp - every error that a user can cause, worded once.
//
// Each function raises and does not return, except: check_ functions return if the value is valid,
// warn_, debug_ and log_ functions send a message and return. None takes a lock. Errors that PostgreSQL
// itself words (read-only transactions, constraints) are left to it; those of privileges have its
// words, and a hint.

#pragma once

#include "postgres.hpp"

namespace queue_ext::error {

// 22004: "what" must not be null.
[[noreturn]] void null_argument(const char *what);
// 22004: a receipt without its attempt; "what" is the argument, attempt or attempts.
[[noreturn]] void attempt_missing(const char *what);
// 22004: an array has a null element where a value is required.
[[noreturn]] void null_element(const char *what);
// 22023: an integer is outside [lowest, highest].
void check_range(const char *what, int32 value, int32 lowest, int32 highest);
// 22023: an interval is not positive, or is infinite.
void check_positive(const char *what, const Interval *value);
// 22023: an interval is negative or infinite.
void check_not_negative(const char *what, const Interval *value);
// 22023: two arrays that belong together differ in length.
[[noreturn]] void length_mismatch(const char *first, int first_length, const char *second,
								  int second_length);
// 2202E: an array has more than one dimension.
[[noreturn]] void not_one_dimensional(const char *what);
// 22023: the text is not a state of a job.
[[noreturn]] void unknown_state(const char *state);

// Whether the text is empty or has only spaces, as btrim() in the tables' constraints sees it: a tab is no space.
// Never raises.
bool is_blank(const text *value);
// 22023: the text is blank.
void check_not_blank(const char *what, const text *value);
// 42501: the caller has not the rights on the table that the call needs; the commands grant them,
// and may be null.
[[noreturn]] void no_right(const char *table, const char *grants);
// The same, where the owner does it for the caller, unless the table has code of users.
[[noreturn]] void no_right_beside_code(const char *table, const char *grants);
// 55000: a claim does not do that.
[[noreturn]] void may_fire_at_commit(const char *table);
// 42501: it is not done as the caller, either.
[[noreturn]] void code_of_users(const char *table);
// The hint of such an error.
char *grant_hint(const char *grants);
// 42501: the caller has not that right on the schema.
[[noreturn]] void no_right_on_schema(const char *schema, const char *right);

// Of unique inserts.
// 22023: an element is not a state that can count as a duplicate; or the array is empty.
[[noreturn]] void unknown_counted_state(const char *state);
[[noreturn]] void no_states();
// 0A000: the period has months or years, whose length varies.
[[noreturn]] void period_of_months(const Interval *period);
// 22023: the period in microseconds is out of range.
[[noreturn]] void period_too_long(const Interval *period);
// 54000: the names, as a JSON array, are longer than the limit.
[[noreturn]] void names_too_long(const char *what, int most);
// 22023: unique_by names keys, and the payload is not an object.
[[noreturn]] void payload_is_no_object();

// 22023. keys: those that the payload has, for the hint; "": none.
[[noreturn]] void payload_lacks_keys(const char *keys);
// 0A000: the history of done jobs would reveal rows that row security hides from the caller.
[[noreturn]] void done_under_row_security(const char *table);
[[noreturn]] void changed_under_row_security(const char *table);
[[noreturn]] void changed_beside_queue(const char *queue, const char *table);
[[noreturn]] void forget_under_row_security(const char *table);

// 42804: the value is not a row of a table.
[[noreturn]] void not_a_table_row(const char *what, Oid type);
// 42809: the relation is not a table that unique rows can be inserted into.
[[noreturn]] void cannot_insert_into(const char *name, char kind);
// 42703: the table has no such column.
[[noreturn]] void no_such_column(const char *table, const char *column);
// 42804: the column, which that argument names, has no times.
[[noreturn]] void no_times(const char *table, const char *column, Oid type, const char *argument);
// 42883: the type of the column has no equality operator.
[[noreturn]] void no_equality(const char *column, Oid type);
// WARNING 01000: no index supports the duplicate check; the hint is the command for one.
void warn_no_unique_index(const char *table, const char *command);

// 42602: the text is not the name of a queue.
[[noreturn]] void invalid_name(const char *text);
// 42622: a part of a name, or a name made from it, is longer than 63 bytes.
[[noreturn]] void name_too_long(const char *name);
// 42704: there is no such queue. "text" is the name as the caller wrote it.
[[noreturn]] void no_such_queue(const char *text);
// 42704: the queue was dropped or detached during the call.
[[noreturn]] void queue_ended(const char *queue);
// 42704: the schema that was given has no such queue, but another schema has one of that name; "full" is
// how to write it.
[[noreturn]] void queue_in_other_schema(const char *text, const char *schema, const char *full);
// 42704: no schema of the search path has such a queue, but another schema has one of that name; "full"
// is how to write it.
[[noreturn]] void queue_outside_path(const char *text, const char *schema, const char *full);
// 42704: there is no such queue, but one of that name in a schema on which the caller has no USAGE.
[[noreturn]] void queue_in_closed_schema(const char *text, const char *schema);
// 42704: there is no such queue, but one whose name differs in case; "spelling" is how to write it.
[[noreturn]] void queue_of_other_case(const char *text, const char *name, const char *spelling);
// 42704, 42P07: there is no such queue, but a table with the layout of its table. "name" is the
// table's name.
[[noreturn]] void queue_left_behind(const char *text);
[[noreturn]] void table_left_behind(const char *name, const char *text);
// 42P01: there is no such table to adopt as a queue.
[[noreturn]] void no_table_to_adopt(const char *name, const char *text);
// 42P01: the name meant the relation earlier in the command, and does not any more.
[[noreturn]] void gone_during_command(const char *name);
// 42710: the table belongs to a managed queue.
[[noreturn]] void table_is_managed(const char *table, const char *queue);
// 55000: the table does not have the layout of a managed queue; "fault" is the detail.
[[noreturn]] void not_a_queues_table(const char *table, const char *fault);
// 55000: the table has a column of its own where a managed queue's table has another; "need" is the
// detail.
[[noreturn]] void column_in_the_way(const char *table, const char *column, const char *need);
// 42804: the column of a managed queue's table has been dropped or has another type.
[[noreturn]] void column_changed(const char *table, const char *column, Oid type,
								 const char *qualified);
// 42710: a queue of that name exists.
[[noreturn]] void queue_exists(const char *name);
// 42P09: two queues of that name have their tables in one schema.
[[noreturn]] void ambiguous_queue(const char *text);
// 55000: the queue's archive table has been dropped.
[[noreturn]] void archive_missing(const char *name, const char *text);
// 55000: a result is given, and the queue has no archive to keep it.
[[noreturn]] void no_archive_for_result(const char *name, const char *text);
// 55000: a result is given, and the queue's archive lacks the column for it.
[[noreturn]] void archive_without_results(const char *name, const char *text, const char *archive);
// 22023: nothing of that name can become of jobs that expire.
[[noreturn]] void unknown_on_expire(const char *name);
// 22023: jobs that expire shall be archived, and there is no archive.
[[noreturn]] void expire_without_archive();
// 22023: a new job is given both.
[[noreturn]] void two_expiries();
// 55000: a job is to expire, and its queue does not say what becomes of it.
[[noreturn]] void no_on_expire(const char *queue, const char *text);
// 55000: expired jobs were to leave, and a trigger did not let one go.
[[noreturn]] void expired_suppressed(const char *table);
// 22023: archived jobs shall be kept for a time, and there is no archive.
[[noreturn]] void keep_without_archive();
// 22023: a result is given, and no job that it is of.
[[noreturn]] void result_of_no_job();
// 55000: the versions of the library and of the extension's SQL objects do not match. "relation" is
// the one that is missing or has other columns. "library" has three parts, "installed" two.
[[noreturn]] void version_mismatch(const char *relation, const char *installed,
								   const char *library);
// 55000: the extension is not created in this database.
[[noreturn]] void not_created();

// Puts general words in place of a message that may have a value of a row: it goes, with its details, hint and context, to the
// server's log alone.
void hide_message(ErrorData *error);

// Of fragments; "label" is the fragment's name.
// 42601: the fragment is not a single expression, ORDER BY list or SET list.
[[noreturn]] void not_an_expression(const char *label);
[[noreturn]] void not_an_order(const char *label);
[[noreturn]] void not_assignments(const char *label);
// 42601: the fragment begins with the words of a clause, at that character of the statement that
// was parsed.
[[noreturn]] void begins_with_clause(const char *label, const char *clause, int position);
// 42P02: the fragment has a parameter such as $1; the variables that it may name instead.
[[noreturn]] void fragment_has_parameter(const char *label, const char *variables);
// 0A000: a sub-select of the fragment locks rows.
[[noreturn]] void fragment_locks_rows(const char *label);
// 42803: the fragment has an aggregate, window or set-returning function.
[[noreturn]] void fragment_is_not_scalar(const char *label);
// 42601: the fragment assigns to a column more than once.
[[noreturn]] void assigned_twice(const char *column);
// 428C9: the fragment assigns to a generated column, or an identity column that is GENERATED
// ALWAYS.
[[noreturn]] void assigned_generated(const char *column);
[[noreturn]] void assigned_identity(const char *column);
// 22023: the row still satisfies "pending" after on_claim was applied.
[[noreturn]] void still_pending(const char *queue, const char *pending, const char *on_claim);

// 0A000: a rule rewrote the statement to a command that returns no rows.
[[noreturn]] void rewritten();

// 22023: the text is not a claim mode.
[[noreturn]] void unknown_claim_mode(const char *mode);
// 22023: claim mode update requires on_claim; the other modes cannot have it.
[[noreturn]] void on_claim_missing();
[[noreturn]] void on_claim_unused(const char *mode);
// 42P01: no table has that OID.
[[noreturn]] void no_such_table(Oid table);
// 0A000: the text of the key's values depends on settings, so that a lock mode cannot use it.
[[noreturn]] void key_without_text(const char *table, Oid type);
// 42809, 0A000: the relation cannot be a queue's table; "reason" is the detail.
[[noreturn]] void not_a_table(const char *name, char kind);
[[noreturn]] void cannot_attach(const char *name, const char *reason);
[[noreturn]] void distributed(const char *table);
// 22023: the queue's name has a schema other than its table's.
[[noreturn]] void not_in_schema(const char *queue, const char *schema);
// 55000: the call or the claim mode needs a key, and the table has none. "command" creates one;
// null where no index can, and then "obstacle" is the detail.
[[noreturn]] void no_key(const char *table, const char *command, const char *obstacle);

// 22004: a receipt has a null in a column of the key.
[[noreturn]] void null_in_key(const char *table, const char *column);
// 22P02: the text is no receipt; "fault" is the detail. Or it is one of another queue, or of columns
// that the queue's receipts do not have any more.
[[noreturn]] void malformed_receipt(const char *fault);
[[noreturn]] void receipt_of_other(const char *queue);
[[noreturn]] void receipt_outdated(const char *queue);
// 54000: the receipt would have more than that many bytes.
[[noreturn]] void receipt_too_long(const char *queue, int most);
// 0A000: the binary form of the type does not give the value of the column back.
[[noreturn]] void inexact_binary(const char *column, Oid type);
// 55000: the queue is not a managed one; the hint names the function for other queues.
[[noreturn]] void not_managed(const char *queue, const char *hint);
// 22023: a queue is named as its own dead queue.
[[noreturn]] void own_dead_queue(const char *queue);
// 55000: the dead queue is temporary, and the queue is not.
[[noreturn]] void dead_queue_temporary(const char *queue);
// 55000: the dead queue has another owner than that.
[[noreturn]] void dead_queue_of_other(const char *queue, const char *table, Oid owner);
// 55000: dead jobs were to be put into the table, and a trigger did not let one in.
[[noreturn]] void dead_jobs_suppressed(const char *table);
// 55000: something of the table has a dead job stay there, which is to be moved or removed.
[[noreturn]] void removal_suppressed(const char *table);
// 55000: the queue is a managed one, which does not go without the trigger queue_ext_wake.
[[noreturn]] void wake_needed(const char *queue);
// 55000: the queue is a managed one, and needs no columns with the ages of its jobs.
[[noreturn]] void ages_known(const char *queue);
// Of schedules.
// 22023: both are given, or neither is.
[[noreturn]] void every_or_cron();
// 22023: the name is blank or longer than the limit.
void check_schedule_name(const char *name);
// 22023: the cron expression is longer than the limit.
void check_cron_length(const char *text);
// 22023: there is no such rule for missed occurrences.
[[noreturn]] void unknown_missed(const char *name);
[[noreturn]] void unknown_on_conflict(const char *name);
[[noreturn]] void max_delay_without_postpone();
[[noreturn]] void postponed_without_time();
// 22023: there is no such time zone.
[[noreturn]] void unknown_time_zone(const char *name);
// 22023: the text is no cron expression; "reason" is a sentence, "field" the name of the field that is
// wrong, or null, and "part" its text.
[[noreturn]] void bad_cron(const char *text, const char *reason, const char *field,
						   const char *part);
// 22023: a part of the interval is negative; or it is shorter than a second.
void check_parts(const char *what, const Interval *value);
[[noreturn]] void every_too_short(const Interval *every);
// 22008: the next occurrence has no timestamp; or the first is infinite.
[[noreturn]] void moment_out_of_range();

// Of scaleout/.
// 42501: the number is not of the last ticket, or that was redeemed.
[[noreturn]] void invalid_ticket();
// 08001: a server has not let dblink in within its time.
[[noreturn]] void connection_timed_out();
// 42804: the first column of the statement is not of type jsonb.
[[noreturn]] void no_jsonb();

// 22023: the kind of a job is empty, or longer than 255 bytes.
void check_kind(const text *kind);
// 22023: a call names no kind; 54000: it names too many.
[[noreturn]] void kinds_out_of_range(int count, int most);
// 22023: a call names no queue; 54000: it names too many.
[[noreturn]] void queues_out_of_range(int count, int most);
// 55000: the queue was made without kinds => true.
[[noreturn]] void no_kind_index(const char *queue, const char *text);
// 55000: the queue's table, of 0.1, has no column for the kinds of its jobs.
[[noreturn]] void no_kinds(const char *queue, const char *text);
// 55000: the queue has no fragment of that name.
[[noreturn]] void no_fragment(const char *queue, const char *label);
[[noreturn]] void retries_always(const char *queue);
[[noreturn]] void column_missing(const char *queue, const char *column, const char *text);
[[noreturn]] void keeps_no_progress(const char *queue);
// 42804: the row is not of the queue's table.
[[noreturn]] void wrong_row_type(const char *queue, Oid expected, Oid given);
// 42804: columns of the type have changed since the row was made.
[[noreturn]] void row_type_changed(Oid type);
// 42804: the argument does not have the row type of a table.
[[noreturn]] void not_a_row_type(Oid type);
// 42704, 42725: the table belongs to no queue, or to more than one.
[[noreturn]] void no_queue_on_table(Oid table);
[[noreturn]] void many_queues_on_table(Oid table);
// 0A000: the transaction has finished jobs in session mode, so it cannot be prepared.
[[noreturn]] void cannot_prepare();
// 2D000: the procedure must commit, and cannot.
[[noreturn]] void cannot_commit(const char *procedure, const char *hint);
// 2D000: the same, of one that commits after each batch of jobs.
[[noreturn]] void cannot_commit_batches(const char *procedure);
// 22023: a change of jobs has nothing to change.
[[noreturn]] void nothing_to_change();
// 42P01: the queue of that name has another table than when the call began.
[[noreturn]] void queue_replaced(const char *queue);
// 25001: the transaction cannot wait without a snapshot; the detail says why.
[[noreturn]] void cannot_wait(const char *detail);

// 39P01: a trigger function was not called by the trigger manager.
[[noreturn]] void not_a_trigger_call(const char *function);
// 39P01: the trigger that called queue_wake has an unsupported event or timing.
[[noreturn]] void wake_trigger_misplaced();

// Of throttled resources. 42704, 42710: there is no such resource, or there is one already.
[[noreturn]] void no_such_resource(const char *resource);
[[noreturn]] void resource_exists(const char *resource);
// 23514: the details of a lock are blank; they must name its owner.
[[noreturn]] void blank_details();

// 55000: the row of a lock is not in named_lock although an insert has returned.
[[noreturn]] void lock_not_made(const char *task_id);

// WARNING 01000: no index supports the claim; the hint is the command for one.
void warn_no_index(const char *queue, const char *command);
// "pending" depends on the session's time zone; use: a sentence that says by what.
void warn_session_zone(const char *queue, const char *use);

// NOTICE 00000: claims of the queue take that path; why, and what would change it, which may be
// null.
void notice_path(const char *queue, const char *path, const char *reason, const char *hint);

// NOTICE 00000: what a call has done to jobs so far, and that it has come to that ID of those up to
// the highest.
void note_progress(const char *queue, const char *done, int64 jobs, int64 id, int64 highest);
// For the server's log: why a completion has not cleared what the queue's archive need not keep.
void log_slot_not_cleared(const char *queue, const ErrorData *cause);
// The same: why expired jobs stay, whatever the queue says.
void log_expired_not_ended(const char *table, const ErrorData *cause);
// The same: why dead jobs stay where they are.
void log_dead_not_moved(const char *table, const char *dead_queue, const ErrorData *cause);
// WARNING 01000: the comment of an adopted table names a dead queue that it cannot have any more. written: the queue as an
// argument has it.
void warn_dead_queue_missing(const char *queue, const char *written, const char *dead_queue);
// NOTICE 00000: the queue, which is dropped or detached, takes the dead jobs of those queues, a list, no longer.
void notice_takes_no_dead(const char *queue, const char *from);
// WARNING, with the SQLSTATE of the error, for which queue_maintain() has passed over the queue.
void warn_not_maintained(const char *queue, const ErrorData *error);

// WARNING 01000: the index that the claim uses has more than that many rows for each pending one;
// the hint is the command for a better one.
void warn_index_excess(const char *index, const char *queue, int excess, const char *command);

// DEBUG1: this backend compiles a queue, or a rule for unique rows of a table, for its cache.
void debug_compiling_queue(const char *table, const char *queue);
void debug_compiling_rule(const char *table);

} // namespace queue_ext::error
