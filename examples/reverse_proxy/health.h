// health.h: checks a back end regularly, by a request for a page.
#pragma once

#include "backend.h"
#include "options.h"

namespace reverse_proxy {

// Only a cancellation ends it.
[[noreturn]] void look_after(backend& b, const checks& how);

}  // namespace reverse_proxy
