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

// 42602: the text is no queue name.
[[noreturn]] void invalid_name(const char *text);
// 42622: a part of a name, or a name derived from it, is over 63 bytes.
[[noreturn]] void name_too_long(const char *name);
// 42704: there is no such queue. "text" is the name as the caller wrote it.
[[noreturn]] void no_such_queue(const char *text);
// 42710: there is such a queue already.
[[noreturn]] void queue_exists(const char *name);
// 42P09: two queues of one name stand in one schema.
[[noreturn]] void ambiguous_queue(const char *text);
// 55000: the queue's archive table has been dropped.
[[noreturn]] void archive_missing(const char *name, const char *text);
// 55000: the library is loaded, the extension is not created in this database.
[[noreturn]] void not_created();

} // namespace queue_ext::error
