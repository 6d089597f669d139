// health.h: looks after a back end: asks it for a page now and then.
#pragma once

#include "backend.h"
#include "options.h"

namespace reverse_proxy {

// Ends only by a cancellation.
[[noreturn]] void look_after(backend& b, const checks& how);

}  // namespace reverse_proxy
