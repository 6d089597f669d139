// fd_calls.h: stand-in for models, which have no simulations.
#pragma once

#include "os/fd_calls.h"

namespace weft::detail::fds {

using os::fd_close;

}  // namespace weft::detail::fds
