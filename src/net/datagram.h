// datagram.h: sends and receives datagrams, for all kinds of sockets.
//
// Threads: any thread. See: docs/sockets.md
#pragma once

#include <weft/detail/fd_handle.h>
#include <weft/net/buffer.h>

#include "net/fd_io.h"
#include "net/socket_address.h"

namespace weft::net::detail {

[[nodiscard]] weft::detail::io_result send_datagram(const weft::detail::fd_handle& h, const_buffer b) noexcept;
[[nodiscard]] weft::detail::io_result send_datagram(const weft::detail::fd_handle& h,
                                                    const_buffer b,
                                                    const socket_address& to) noexcept;

// For a Unix socket. If the receiver's queue is full, no event says when there is room, so it
// retries after pauses.
[[nodiscard]] weft::detail::io_result send_unix_datagram(const weft::detail::fd_handle& h,
                                                         const_buffer b,
                                                         const socket_address& to) noexcept;

[[nodiscard]] weft::detail::io_result receive_datagram(const weft::detail::fd_handle& h,
                                                       mutable_buffer b,
                                                       socket_address& from,
                                                       bool& cut) noexcept;

}  // namespace weft::net::detail
