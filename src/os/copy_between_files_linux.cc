// copy_between_files_linux.cc: see path_calls.h.
//
// By the system call's number, because some C libraries lack copy_file_range. A file system may
// share the blocks of the copy.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/never_inlined.h"
#include "os/path_calls.h"
#include "os/restarted.h"

namespace weft::detail::os {

WEFT_OS_CALL int64_t copy_between_files(int from, int to, std::size_t size) noexcept {
    return restarted([&] { return int64_t{::syscall(SYS_copy_file_range, from, nullptr, to, nullptr, size, 0U)}; });
}

}  // namespace weft::detail::os
