// connect_within.cpp - connect_within: has dblink connect, and interrupts that when its time is over.
//
// dblink of PostgreSQL 16 and later waits for a server that takes the connection and then says nothing for as long as
// that goes on: it heeds interrupts meanwhile, but not connect_timeout. dblink of 15 heeds connect_timeout, and no
// interrupt; it shows no wait event, so it is left alone.
//
// Invariant: the timer runs only while the statement of a call runs, and asks for a cancel only where the backend waits,
// so that it is heeded at once: else it might hide another cancel, which came before it is.

#include "../postgres.hpp"

#include "../argument.hpp"
#include "../error.hpp"
#include "../statement/statement.hpp"

namespace queue_ext::scaleout {

// How often the timer looks again, once the time is over, whether the backend waits.
constexpr int look_again_after = 100; // milliseconds
constexpr int most_milliseconds = 3600 * 1000;

// Of this backend: its timer, and whether that has asked for a cancel.
static bool has_timer = false;
static TimeoutId timer;
static volatile sig_atomic_t has_asked = false;

// In the handler of SIGALRM. A cancel that is under way already is somebody else's.
static void
ask_for_cancel()
{
	if (QueryCancelPending || *my_wait_event_info == 0)
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
	// It came just as the wait ended.
	if (!is_heeded && !get_timeout_indicator(STATEMENT_TIMEOUT, false))
		QueryCancelPending = false;
	return true;
}

QUEUE_EXT_FUNCTION(queue_ext_connect_within);

// Runs the statement, which returns a row, with two texts as its parameters. Raises 08001 when the milliseconds are over,
// 22023 if they are not from 1 to an hour's, 22004 for a null, and what the statement raises; 57014 if somebody cancels it,
// or statement_timeout is over, meanwhile.
Datum
queue_ext_connect_within(PG_FUNCTION_ARGS)
{
	PreventCommandIfParallelMode("connect_within()");
	const int32 milliseconds = argument::required_int32(fcinfo, 0, "_milliseconds");
	const char *text = text_to_cstring(argument::required_text(fcinfo, 1, "_statement"));
	Datum values[] = {PointerGetDatum(argument::required_text(fcinfo, 2, "_connection")),
					  PointerGetDatum(argument::required_text(fcinfo, 3, "_conninfo"))};
	Oid types[] = {TEXTOID, TEXTOID};
	error::check_range("_milliseconds", milliseconds, 1, most_milliseconds);
	if (!has_timer) {
		timer = RegisterTimeout(USER_TIMEOUT, ask_for_cancel);
		has_timer = true;
	}

	const TimestampTz call_ends =
		get_timeout_active(STATEMENT_TIMEOUT) ? get_timeout_finish_time(STATEMENT_TIMEOUT) : 0;
	const MemoryContext context = CurrentMemoryContext;
	enable_timeout_every(timer, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), milliseconds),
						 look_again_after);
	PG_TRY();
	{
		// It ends with its first row: an interrupt must not come between a connection and that.
		statement::with_spi([&] {
			const int outcome = SPI_execute_with_args(text, 2, types, values, nullptr, false, 1);
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
