// error.hpp - every error a user can cause, worded once.
//
// Each function raises and does not return, or returns if all is well (check_...).
// None takes a lock. Errors that PostgreSQL itself words (privileges, read-only
// transactions, constraints) are left to it.

#pragma once

#include "postgres.hpp"

namespace queue_ext::error {

// 22004: "what" must not be null.
[[noreturn]] void null_argument(const char *what);
// 22004: an array holds a null where a value is needed.
[[noreturn]] void null_element(const char *what);
// 22023: an integer is outside [lowest, highest].
void check_range(const char *what, int32 value, int32 lowest, int32 highest);
// 22023: an interval that must be positive and finite is not.
void check_positive(const char *what, const Interval *value);
// 22023: an interval that must not be negative, nor infinite, is.
void check_not_negative(const char *what, const Interval *value);
// 22023: two parallel arrays differ in length.
[[noreturn]] void length_mismatch(const char *first, int first_length, const char *second,
								  int second_length);
// 2202E: an array has more than one dimension.
[[noreturn]] void not_one_dimensional(const char *what);
// 22023: not one of the states a job can be in.
[[noreturn]] void unknown_state(const char *state);

// Whether the text is empty, or of spaces alone.
bool is_blank(const text *value);
// 22023: a text that must not be blank is.
void check_not_blank(const char *what, const text *value);
// Of unique inserts.
// 22023: not one of the states that can count; or none given.
[[noreturn]] void unknown_counted_state(const char *state);
[[noreturn]] void no_states();
// 0A000: months and years differ in length.
[[noreturn]] void period_of_months(const Interval *period);
// 22023: the period is too long to be counted in microseconds.
[[noreturn]] void period_too_long(const Interval *period);
// 54000: the names are too long, written as a JSON array.
[[noreturn]] void names_too_long(const char *what, int most);
// 22023: keys are asked for, of a payload that has none.
[[noreturn]] void payload_is_no_object();
// 0A000: what is remembered of done jobs would tell of rows that row security hides.
[[noreturn]] void done_under_row_security(const char *table);
[[noreturn]] void forget_under_row_security(const char *table);

// 42804: not a row of a table.
[[noreturn]] void not_a_table_row(const char *what, Oid type);
// 42809: not a table that rows can be inserted into.
[[noreturn]] void cannot_insert_into(const char *name, char kind);
// 42703: the table has no such column.
[[noreturn]] void no_such_column(const char *table, const char *column);
// 42883: values of the column's type cannot be compared.
[[noreturn]] void no_equality(const char *column, Oid type);
// 01000: no index finds rows by their unique columns.
void warn_no_unique_index(const char *table, const char *command);

// 42602: the text is no queue name.
[[noreturn]] void invalid_name(const char *text);
// 42622: a part of a name, or a name derived from it, is over 63 bytes.
[[noreturn]] void name_too_long(const char *name);
// 42704: there is no such queue. "text" is the name as the caller wrote it.
[[noreturn]] void no_such_queue(const char *text);
// 42704, 42P07: there is none such, but its table is there. "name" is the table's.
[[noreturn]] void queue_left_behind(const char *text);
[[noreturn]] void table_left_behind(const char *name, const char *text);
// 42P01: there is no such table to make a queue of.
[[noreturn]] void no_table_to_adopt(const char *name, const char *text);
// 42P01: the name meant the relation a moment ago.
[[noreturn]] void gone_during_command(const char *name);
// 42710: the table is that of a managed queue.
[[noreturn]] void table_is_managed(const char *table, const char *queue);
// 55000: the table is not like that of a managed queue, and why not.
[[noreturn]] void not_a_queues_table(const char *table, const char *fault);
// 42804: the column of a managed queue's table has another type now, or is gone.
[[noreturn]] void column_changed(const char *table, const char *column, Oid type,
								 const char *qualified);
// 42710: there is such a queue already.
[[noreturn]] void queue_exists(const char *name);
// 42P09: two queues of one name stand in one schema.
[[noreturn]] void ambiguous_queue(const char *text);
// 55000: the queue's archive table has been dropped.
[[noreturn]] void archive_missing(const char *name, const char *text);
// 55000: the library and the extension's objects are of versions that do not fit; "relation"
// is what the library misses, or finds changed. "library" has three parts, "installed" two.
[[noreturn]] void version_mismatch(const char *relation, const char *installed,
								   const char *library);
// 55000: the library is loaded, the extension is not created in this database.
[[noreturn]] void not_created();

// Of fragments; "label" is the fragment's name.
// 42601: not a single expression, ORDER BY list, SET list.
[[noreturn]] void not_an_expression(const char *label);
[[noreturn]] void not_an_order(const char *label);
[[noreturn]] void not_assignments(const char *label);
// 42P02: it has a parameter such as $1.
[[noreturn]] void fragment_has_parameter(const char *label);
// 0A000: a sub-select in it locks rows.
[[noreturn]] void fragment_locks_rows(const char *label);
// 42803: an aggregate, a window function or a set-returning function.
[[noreturn]] void fragment_is_not_scalar(const char *label);
// 42601: a column is assigned to more than once.
[[noreturn]] void assigned_twice(const char *column);
// 428C9: a generated column, or an identity column that is always generated.
[[noreturn]] void assigned_generated(const char *column);
[[noreturn]] void assigned_row_key(const char *column);
// 22023: a claim left its row pending.
[[noreturn]] void still_pending(const char *queue, const char *pending, const char *on_claim);

// 0A000: a rule of the table has made another command of a statement.
[[noreturn]] void rewritten();

// 22023: no such claim mode.
[[noreturn]] void unknown_claim_mode(const char *mode);
// 22023: the claim mode wants on_claim, or cannot have it.
[[noreturn]] void on_claim_missing();
[[noreturn]] void on_claim_unused(const char *mode);
// 42P01: no table has that OID.
[[noreturn]] void no_such_table(Oid table);
// 0A000: a lock cannot tell the rows of that key apart.
[[noreturn]] void key_without_text(const char *table, Oid type);
// 42809, 0A000: what cannot be a queue's table, and why.
[[noreturn]] void not_a_table(const char *name, char kind);
[[noreturn]] void cannot_attach(const char *name, const char *reason);
// 22023: the queue's schema is not its table's.
[[noreturn]] void not_in_schema(const char *queue, const char *schema);
// 55000: the table has no key, which the call or the mode needs.
[[noreturn]] void no_key(const char *table, const char *command, const char *obstacle);

// 22004: a receipt has a null in what tells its row from others.
[[noreturn]] void null_in_key(const char *table, const char *column);
// 55000: the queue is not managed, and what serves it instead.
[[noreturn]] void not_managed(const char *queue, const char *hint);
// 55000: the queue has no such fragment.
[[noreturn]] void no_fragment(const char *queue, const char *label);
// 42804: a row is not of the queue's table.
[[noreturn]] void wrong_row_type(const char *queue, Oid expected, Oid given);
// 42804: the type's columns have got other types since a row of it was made.
[[noreturn]] void row_type_changed(Oid type);
// 42804: not the row type of a table.
[[noreturn]] void not_a_row_type(Oid type);
// 42704, 42725: the table carries no queue, or more than one.
[[noreturn]] void no_queue_on_table(Oid table);
[[noreturn]] void many_queues_on_table(Oid table);
// 0A000: a transaction that finished jobs in session mode cannot be prepared.
[[noreturn]] void cannot_prepare();

// 39P01: a trigger function was called in another way.
[[noreturn]] void not_a_trigger_call(const char *function);
// 39P01: queue_wake is the function of a trigger for which it was not made.
[[noreturn]] void wake_trigger_misplaced();

// Of throttled resources. 42704, 42710: there is none, or is one already.
[[noreturn]] void no_such_resource(const char *resource);
[[noreturn]] void resource_exists(const char *resource);
// 23514: whoever locks a resource has to say who it is.
[[noreturn]] void blank_details();

// 55000: a lock's row is not in the table of locks, although it was inserted.
[[noreturn]] void lock_not_made(const char *task_id);

// WARNING 01000: no index supports the claim; the hint is the command for one.
void warn_no_index(const char *queue, const char *command);

// Tells who asks for it (DEBUG1) that what a session has cached of a queue, or of the unique
// rows of a table, is made.
void debug_compiling_queue(const char *table, const char *queue);
void debug_compiling_rule(const char *table);

} // namespace queue_ext::error
