// access.hpp - how the plan of a statement should find its rows.

#pragma once

namespace queue_ext::statement {

enum class Access {
	by_key,     // by any index
	by_values,  // by any index, as in a table of many rows, which has the alias t and is the first
	by_tid,     // the rows of the table with the alias t by their TIDs, others by any index
	by_row_key, // by the index of the row key
	by_kind,    // by an index whose first column is the kind of a job
	anywhere,   // in any order, by any scan
	in_order,   // by an index that has the order
	restricted, // by one that has the order, and a condition or predicate, too
};

} // namespace queue_ext::statement
