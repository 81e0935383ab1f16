// cursor_form.hpp - which types' values can stand in a cursor (cursor.hpp).

#pragma once

#include "../postgres.hpp"

#include "cursor.hpp"

namespace queue_ext::claim {

// The form in which values of the attribute's type stand in a cursor. False for a type
// that has none: one of the user's, or whose values are too involved to be checked.
bool find_form(const FormData_pg_attribute *attribute, cursor::Column *column);

} // namespace queue_ext::claim
