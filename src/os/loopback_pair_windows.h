// loopback_pair_windows.h: two sockets that are connected to each other, because the poller watches
// sockets only, and Windows has no pairs of sockets.
//
// Threads: any thread.
#pragma once

namespace weft::detail::os {

// Streams over the loopback device, which no other process can take part in. Non-blocking, not
// inherited. Returns 0 or minus errno's value.
[[nodiscard]] int loopback_pair(int (&fds)[2]) noexcept;

}  // namespace weft::detail::os
