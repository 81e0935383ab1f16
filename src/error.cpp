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
						errdetail("It is %d.", value)));
}

static int
sign(const Interval *value)
{
	Interval zero{};
	return DatumGetInt32(
		DirectFunctionCall2(interval_cmp, IntervalPGetDatum(value), IntervalPGetDatum(&zero)));
}

static const char *
to_text(const Interval *value)
{
	return DatumGetCString(DirectFunctionCall1(interval_out, IntervalPGetDatum(value)));
}

void
check_positive(const char *what, const Interval *value)
{
	if (!compat::interval_is_finite(value) || sign(value) <= 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("\"%s\" must be a positive interval", what),
						errdetail("It is \"%s\".", to_text(value))));
}

void
check_not_negative(const char *what, const Interval *value)
{
	if (!compat::interval_is_finite(value) || sign(value) < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("\"%s\" must not be a negative interval", what),
						errdetail("It is \"%s\".", to_text(value))));
}

void
length_mismatch(const char *first, int first_length, const char *second, int second_length)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("\"%s\" and \"%s\" must have the same number of elements", first, second),
			 errdetail("They have %d and %d.", first_length, second_length)));
}

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
					errmsg("\"state\" must be ready, scheduled, leased or dead"),
					errdetail("It is \"%s\".", state)));
}

void
invalid_name(const char *text)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_NAME), errmsg("invalid queue name: \"%s\"", text),
					errhint("Write it as the name of a table: emails, jobs.emails, or in double "
							"quotes where it needs them.")));
}

void
name_too_long(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_NAME_TOO_LONG), errmsg("name \"%s\" is too long", name),
			 errdetail("It has %zu bytes; a name has at most %d.", strlen(name), NAMEDATALEN - 1)));
}

void
no_such_queue(const char *text)
{
	ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("queue \"%s\" does not exist", text),
					errhint("Create it with queue_create(%s).", quote_literal_cstr(text))));
}

void
queue_exists(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT), errmsg("queue \"%s\" already exists", name)));
}

void
ambiguous_queue(const char *text)
{
	ereport(ERROR,
			(errcode(ERRCODE_AMBIGUOUS_ALIAS), errmsg("queue name \"%s\" is ambiguous", text),
			 errdetail("Tables of two queues of this name have come into one schema."),
			 errhint("Move one of the tables to another schema with ALTER TABLE ... SET "
					 "SCHEMA.")));
}

void
archive_missing(const char *name, const char *text)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("archive table of queue \"%s\" does not exist", name),
					errhint("Make a new one with queue_alter(%s, archive => true), or do without: "
							"archive => false.",
							quote_literal_cstr(text))));
}

void
not_created()
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("extension \"queue_ext\" is not created in this database"),
					errhint("Run CREATE EXTENSION queue_ext.")));
}

} // namespace queue_ext::error
