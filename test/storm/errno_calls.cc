// errno_calls.cc: see errno_calls.h.
#include "errno_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace weft::test {

const errno_call errno_calls[error_kinds] = {
    {[] { (void)::close(-1); }, EBADF},
    {[] { (void)::open("/this/does/not/exist", O_RDONLY); }, ENOENT},
    {[] { (void)::open("/proc", O_WRONLY); }, EISDIR},
    {[] { (void)::open("/proc/self/stat/x", O_RDONLY); }, ENOTDIR},
    {[] { (void)::lseek(STDERR_FILENO, 0, -1); }, EINVAL},
};

}  // namespace weft::test
