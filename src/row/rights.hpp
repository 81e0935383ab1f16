// rights.hpp - who may read and write a table without the executor.

#pragma once

#include "../postgres.hpp"

namespace queue_ext::row {

// Whether the caller has all these rights on the whole table, and nobody else is to be
// asked: an extension that audits or restricts statements (pgaudit, sepgsql) does so in the
// executor's permission checks. Where it is false, a statement says what is missing, if
// anything.
bool has_rights(Oid table, AclMode rights);

} // namespace queue_ext::row
