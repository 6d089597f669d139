// freeze.cc: see freeze.h.
#include "sched/freeze.h"

namespace weft::detail {

constinit spin_lock freezing;

}  // namespace weft::detail
