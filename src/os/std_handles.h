// std_handles.h: descriptors on Windows.
//
// A descriptor is the value of a HANDLE or a SOCKET. Windows promises that 32 bits of it suffice,
// and that it is a multiple of 4. So 0, 1 and 2 are free: they stand for the standard handles.
//
// Rejected: Descriptors of the C library: sockets have none, there are at most 8192, and each call
// takes a lock. Rejected: A table of our own: each call would look in it, and programs could
// not pass handles to weft::wait_fd.
//
// Threads: any thread.
#pragma once

#include <cstdint>

#include "os/windows_api.h"

namespace weft::detail::os {

[[nodiscard]] inline HANDLE to_handle(int fd) noexcept {
    constexpr DWORD standard[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    if (fd >= 0 && fd <= 2) return GetStdHandle(standard[fd]);
    return reinterpret_cast<HANDLE>(static_cast<intptr_t>(fd));  // NOLINT(performance-no-int-to-ptr)
}

[[nodiscard]] inline SOCKET to_socket(int fd) noexcept { return static_cast<SOCKET>(static_cast<intptr_t>(fd)); }

[[nodiscard]] inline int to_fd(HANDLE handle) noexcept { return static_cast<int>(reinterpret_cast<intptr_t>(handle)); }

[[nodiscard]] inline int to_fd(SOCKET socket) noexcept { return static_cast<int>(socket); }

}  // namespace weft::detail::os
