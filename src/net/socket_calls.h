// socket_calls.h: making, naming, connecting and accepting, for all kinds of sockets.
//
// Threads: any thread. See: docs/sockets.md
#pragma once

#include <string>

#include <weft/detail/fd_handle.h>

#include "net/fd_io.h"
#include "net/socket_address.h"

namespace weft::net::detail {

// Functions with a parameter what throw std::system_error, whose text begins with it.
[[nodiscard]] weft::detail::fd_handle make_socket(int family, int type, int protocol, const std::string& what);

// Takes ownership of fd, a socket of that type, and makes it non-blocking. std::system_error leaves
// fd unchanged.
[[nodiscard]] weft::detail::fd_handle adopt_socket(int fd, bool is_unix, int type, const char* what);

[[nodiscard]] socket_address name_of(const weft::detail::fd_handle& h, bool of_peer, const char* what);

void set_option(const weft::detail::fd_handle& h, int level, int option, int value, const char* what);
void set_option(
    const weft::detail::fd_handle& h, int level, int option, const void* value, uint32_t size, const char* what);

// made: a new socket.
[[nodiscard]] weft::detail::io_result connect_to(socket_address to, const weft::detail::fd_handle& made);

// Waits for a connection; result.count is its descriptor. If no descriptor is left, warns once and
// retries after pauses.
[[nodiscard]] weft::detail::io_result accept_from(const weft::detail::fd_handle& h);

// Text to append to an error: cause and remedy. Empty if unknown.
[[nodiscard]] std::string advice_on_binding(int error);

}  // namespace weft::net::detail
