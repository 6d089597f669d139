// datagram.h: sending and receiving datagrams, of whichever kind of socket.
//
// Who: any thread. See: docs/sockets.md
#pragma once

#include <weft/detail/fd_handle.h>
#include <weft/net/buffer.h>

#include "net/fd_io.h"
#include "net/socket_address.h"

namespace weft::net::detail {

// Sends b to where h is connected to, or to that address.
[[nodiscard]] weft::detail::io_result send_datagram(const weft::detail::fd_handle& h, const_buffer b) noexcept;
[[nodiscard]] weft::detail::io_result send_datagram(const weft::detail::fd_handle& h,
                                                    const_buffer b,
                                                    const socket_address& to) noexcept;

// The same to a Unix socket: where the queue that is full is the receiver's, no event says when it is not, so it is tried again after pauses.
[[nodiscard]] weft::detail::io_result send_unix_datagram(const weft::detail::fd_handle& h,
                                                         const_buffer b,
                                                         const socket_address& to) noexcept;

// Waits for a datagram: result.count bytes of it are in b.
[[nodiscard]] weft::detail::io_result receive_datagram(const weft::detail::fd_handle& h,
                                                       mutable_buffer b,
                                                       socket_address& from,
                                                       bool& cut) noexcept;

}  // namespace weft::net::detail
