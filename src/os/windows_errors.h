// windows_errors.h: errno's values for errors of Windows.
//
// Threads: any thread.
#pragma once

#include "os/windows_api.h"

namespace weft::detail::os {

// Of GetLastError() or WSAGetLastError(); EIO for one that errno has no value for.
[[nodiscard]] int error_number(DWORD error) noexcept;

[[nodiscard]] inline int last_error_number() noexcept { return error_number(GetLastError()); }

}  // namespace weft::detail::os
