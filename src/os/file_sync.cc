// file_sync.cc: see file_calls.h.
#include <unistd.h>

#include "os/fault_injection.h"
#include "os/file_calls.h"
#include "os/never_inlined.h"
#include "os/restarted.h"

namespace weft::detail::os {

WEFT_OS_CALL int file_sync(int fd, bool data_only) noexcept {
    if (const int error = injected_failure(failure::sync); error != 0) return -error;
    return restarted([&] { return data_only ? ::fdatasync(fd) : ::fsync(fd); });
}

}  // namespace weft::detail::os
