// writable_linux.cc: see writable.h.
#include <poll.h>

#include "os/writable.h"

namespace weft::detail::os {

bool becomes_writable(int fd, int ms) noexcept {
    pollfd one{fd, POLLOUT, 0};
    return poll(&one, 1, ms) != 0;  // an error: the write will say so
}

}  // namespace weft::detail::os
