// file_sync_darwin.cc: see file_calls.h. fsync() alone leaves the content in the memory of the
// disk.
#include <fcntl.h>
#include <unistd.h>

#include "os/file_calls.h"
#include "os/never_inlined.h"
#include "os/restarted.h"

namespace weft::detail::os {

WEFT_OS_CALL int file_sync(int fd, bool /*data_only*/) noexcept {
    const int result = restarted([&] { return ::fcntl(fd, F_FULLFSYNC); });
    return result != -ENOTSUP && result != -ENOTTY && result != -EINVAL ? result
                                                                        : restarted([&] { return ::fsync(fd); });
}

}  // namespace weft::detail::os
