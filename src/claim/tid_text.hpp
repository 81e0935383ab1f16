// tid_text.hpp - the texts of the statements that claim candidates by their TIDs. by_tid.cpp shows them, and says why they are so.

#pragma once

#include "../postgres.hpp"

#include "../definition/definition.hpp"

namespace queue_ext::claim {

// The statements.
enum class TidForm {
	many,   // for any number of candidates
	one,    // for one
	locked, // for one that is known to be pending, and that the claimer has locked
};

// The statement that claims the candidates that are pending, by the mode of the queue. In mode update the last column is
// whether the row is still pending; for many, the one before is the candidate's TID. In mode transaction the last columns
// are the TID and the key; in mode session the TID is the last. leaf: the only table to have rows of, or InvalidOid.
// Raises what compiling the fragments raises.
const char *tid_text(definition::Definition *definition, TidForm form, Oid leaf);

} // namespace queue_ext::claim
