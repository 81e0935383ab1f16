// keep.hpp - whether what a managed queue need not keep any longer is removed.

#pragma once

#include "../postgres.hpp"

#include "subject.hpp"

namespace queue_ext::health {

void check_keep(const Subject &subject, Relation table);

} // namespace queue_ext::health
