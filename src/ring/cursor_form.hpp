// cursor_form.hpp - the types whose values can be in a cursor (cursor.hpp).

#pragma once

#include "../postgres.hpp"

#include "cursor.hpp"

namespace queue_ext::ring {

// Finds the form that values of the attribute's type have in a cursor. False for a type that has
// none: one that is user-defined, or whose values are too complex to be checked.
bool find_form(const FormData_pg_attribute *attribute, cursor::Column *column);

} // namespace queue_ext::ring
