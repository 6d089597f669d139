// process_descriptor_linux.h: waiting for the process of a descriptor. Newer than some headers.
#pragma once

#include <sys/wait.h>

namespace weft::detail::os {

inline constexpr auto wait_by_descriptor = static_cast<idtype_t>(3);  // P_PIDFD, Linux 5.4

}  // namespace weft::detail::os
