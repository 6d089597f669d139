// errno_calls_windows.cc: see errno_calls.h. The values are those of the C library.
#include <errno.h>
#include <fcntl.h>
#include <io.h>

#include <cstdio>
#include <cstdlib>

#include "errno_calls.h"

namespace weft::test {

const errno_call errno_calls[error_kinds] = {
    {[] { (void)::_close(-1); }, EBADF},
    {[] { (void)::_open("/this/does/not/exist", _O_RDONLY); }, ENOENT},
    {[] { (void)::_open(".", _O_WRONLY); }, EACCES},
    {[] { (void)std::strtoul("99999999999999999999", nullptr, 10); }, ERANGE},
    {[] { (void)::_lseek(2, 0, -1); }, EINVAL},
};

}  // namespace weft::test
