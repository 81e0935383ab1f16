// own_update.hpp - a claim's statement, as the wake-up trigger sees it.
//
// A claim makes no row claimable, so the trigger has nothing to note of the rows that a claim's own
// statement writes: otherwise the rings would sweep after each claim, for nothing. If user-defined
// code of a trigger or a function writes other rows during the statement, the trigger fires more
// often than the statement itself makes it, and the claim notes that rows were written.

#pragma once

#include "../postgres.hpp"

#include "../wake/written.hpp"

namespace queue_ext::claim {

// A claim's statement that is running, on the stack of its call.
struct OwnUpdate
{
	OwnUpdate *outer;
	Oid table;
	uint64 fired;    // how often the wake-up trigger has fired meanwhile
	bool is_per_row; // the trigger is FOR EACH ROW
};

// Begins a claim's statement on the table. Never raises.
void begin_own_update(OwnUpdate *update, Oid table);

// Ends it; also to be called on ERROR. Never raises.
void end_own_update(const OwnUpdate *update);

// Whether a claim's statement may have fired the trigger on this table; counts it then. For the
// trigger. Never raises.
bool is_own_update(Oid table, bool is_per_row);

// Runs a claim's statement on the table: body() returns the number of rows written, which this
// returns. Notes a wake-up if other rows may have been written, too. Raises what body() raises.
template <typename Body>
uint64
with_own_update(Oid table, Body &&body)
{
	static_assert(std::is_trivially_destructible_v<std::remove_reference_t<Body>>);
	OwnUpdate update;
	volatile uint64 written = 0;
	begin_own_update(&update, table);
	PG_TRY();
	{
		written = body();
	}
	PG_FINALLY();
	{
		end_own_update(&update);
	}
	PG_END_TRY();
	if (update.fired > (update.is_per_row ? written : 1)) {
		wake::note_writes(table, wake::at_once);
		wake::note_wake(table);
	}
	return written;
}

} // namespace queue_ext::claim
