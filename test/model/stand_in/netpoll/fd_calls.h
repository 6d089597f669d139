// fd_calls.h: stands in for src/netpoll/fd_calls.h: models are not simulated.
#pragma once

#include "os/fd_calls.h"

namespace weft::detail::fds {

using os::fd_close;

}  // namespace weft::detail::fds
