// file_sync_windows.cc: see file_calls.h.
#include "os/fault_injection.h"
#include "os/file_calls.h"
#include "os/never_inlined.h"
#include "os/std_handles.h"
#include "os/windows_errors.h"

namespace weft::detail::os {

WEFT_OS_CALL int file_sync(int fd, bool /*data_only*/) noexcept {
    if (const int error = injected_failure(failure::sync); error != 0) return -error;
    return FlushFileBuffers(to_handle(fd)) != 0 ? 0 : -last_error_number();
}

}  // namespace weft::detail::os
