// connect_within.cpp - connect_within: has dblink connect, and ends that when its time is over.
//
// dblink of PostgreSQL 16 and later waits for a server that takes the connection and then says nothing for as long as
// that goes on: it heeds interrupts meanwhile, but not connect_timeout. So a timer interrupts it. dblink of 15 heeds
// connect_timeout, and no interrupt.
//
// Invariant: the timer runs, and what it has asked for lasts, only while the statement of a call runs.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../error.hpp"
#include "../statement/statement.hpp"

namespace queue_ext::scaleout {

// Of this backend: its timer, and whether that has asked for a cancel.
static bool has_timer = false;
static TimeoutId timer;
static volatile sig_atomic_t has_asked = false;

// In the handler of SIGALRM. A cancel that is under way already is somebody else's.
static void
ask_for_cancel()
{
	if (QueryCancelPending)
		return;
	has_asked = true;
	InterruptPending = true;
	QueryCancelPending = true;
	SetLatch(MyLatch);
}

// Never raises. is_heeded: that the statement was cancelled. Returns whether the timer had asked for it.
static bool
stop_timer(bool is_heeded)
{
	disable_timeout(timer, false);
	if (!has_asked)
		return false;
	has_asked = false;
	if (!is_heeded)
		QueryCancelPending = false;
	return true;
}

QUEUE_EXT_FUNCTION(queue_ext_connect_within);

// Runs the statement with two texts as its parameters. Raises 08001 when the milliseconds are over, 22023 for none of
// these, and what the statement raises, as also when it is cancelled, or its own time is over, meanwhile.
Datum
queue_ext_connect_within(PG_FUNCTION_ARGS)
{
	PreventCommandIfParallelMode("connect_within()");
	const int32 milliseconds = argument::required_int32(fcinfo, 0, "_milliseconds");
	const char *text = text_to_cstring(argument::required_text(fcinfo, 1, "_statement"));
	Datum values[] = {PointerGetDatum(argument::required_text(fcinfo, 2, "_connection")),
					  PointerGetDatum(argument::required_text(fcinfo, 3, "_conninfo"))};
	Oid types[] = {TEXTOID, TEXTOID};
	error::check_range("_milliseconds", milliseconds, 1, 3600 * 1000);
	if (!has_timer) {
		timer = RegisterTimeout(USER_TIMEOUT, ask_for_cancel);
		has_timer = true;
	}
	if (get_timeout_active(timer))
		elog(ERROR, "connect_within() is called within its own statement");

	const TimestampTz call_ends =
		get_timeout_active(STATEMENT_TIMEOUT) ? get_timeout_finish_time(STATEMENT_TIMEOUT) : 0;
	const MemoryContext context = CurrentMemoryContext;
	enable_timeout_after(timer, milliseconds);
	PG_TRY();
	{
		statement::with_spi([&] {
			const int outcome = SPI_execute_with_args(text, 2, types, values, nullptr, false, 0);
			if (outcome < 0)
				elog(ERROR, "SPI_execute_with_args: %s", SPI_result_code_string(outcome));
		});
	}
	PG_CATCH();
	{
		const bool is_cancelled = geterrcode() == ERRCODE_QUERY_CANCELED;
		if (!stop_timer(is_cancelled) || !is_cancelled ||
			(call_ends != 0 && call_ends <= GetCurrentTimestamp()))
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		error::connection_timed_out();
	}
	PG_END_TRY();
	stop_timer(false);
	PG_RETURN_VOID();
}

} // namespace queue_ext::scaleout
