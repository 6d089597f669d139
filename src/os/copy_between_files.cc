// copy_between_files.cc: see path_calls.h. The other systems cannot, or only whole files.
#include <cerrno>

#include "os/path_calls.h"

namespace weft::detail::os {

int64_t copy_between_files(int /*from*/, int /*to*/, std::size_t /*size*/) noexcept { return -ENOTSUP; }

}  // namespace weft::detail::os
