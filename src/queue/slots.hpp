// slots.hpp - removes what an archive need not keep any longer: all rows of a slot by TRUNCATE, or a
// batch of rows.
//
// It is done as the owner of the table (claim/as_owner.hpp), since who works need not have the right to truncate the
// archive; callers do nothing that the owner has not set.

#pragma once

#include "../postgres.hpp"

#include "../claim/as_owner.hpp"
#include "../statement/statement.hpp"

namespace queue_ext::queue {

// What was found in a slot of an archive.
enum class SlotState {
	kept,    // no expired row, or the tail of a period, which is left until all of it has expired
	cleared, // nothing else; it has been truncated
	in_use,  // nothing else, but another session has it locked
	mixed,   // expired rows beside those of a later period: it has come round again
};

// Truncates the slot if all that it has is past its keep, and no other session has it locked: keeps the
// lock, ACCESS EXCLUSIVE, until the end of the transaction then.
SlotState clear_slot(const statement::Named &slot, const Interval &keep, claim::Manner manner);

// Deletes rows that are past their keep, the oldest first, but none that another transaction has locked.
// Returns how many, at most "most". Raises what the executor raises.
int64 delete_expired(const statement::Named &table, const Interval &keep, int most,
					 claim::Manner manner);

} // namespace queue_ext::queue
