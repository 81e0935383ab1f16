// time_zone.hpp - what in a fragment depends on the time zone of the session.
//
// A value without time zone means another moment in each zone: compared with one that has a zone, or made of one, it is
// off by hours from session to session.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::definition {

// In words for a message, which column or type of the expression it is; null: there is none. Reads the catalogs; the
// table must be locked.
const char *find_zone_use(Node *expression, Relation table);

} // namespace queue_ext::definition
