// socket_calls.h: shared by all kinds of sockets: making, naming, connecting, accepting.
//
// Threads: any thread. See: docs/sockets.md
#pragma once

#include <string>

#include <weft/detail/fd_handle.h>

#include "net/fd_io.h"
#include "net/socket_address.h"

namespace weft::net::detail {

// Makes a socket. Throws std::system_error, whose text begins with what.
[[nodiscard]] weft::detail::fd_handle make_socket(int family, int type, int protocol, const std::string& what);

// Takes ownership of fd, a socket of that type, and makes it non-blocking. Throws
// std::system_error, with fd unchanged.
[[nodiscard]] weft::detail::fd_handle adopt_socket(int fd, bool is_unix, int type, const char* what);

// Its own name, or that of its peer. Throws std::system_error.
[[nodiscard]] socket_address name_of(const weft::detail::fd_handle& h, bool of_peer, const char* what);

// Sets an option. Throws std::system_error.
void set_option(const weft::detail::fd_handle& h, int level, int option, int value, const char* what);
void set_option(
    const weft::detail::fd_handle& h, int level, int option, const void* value, uint32_t size, const char* what);

// Connects made, a new socket, and waits for the result.
[[nodiscard]] weft::detail::io_result connect_to(socket_address to, const weft::detail::fd_handle& made);

// Waits for a connection and returns its descriptor, or how the call ended. Skips connections that
// are gone again. If no descriptor is left, warns once and retries after a pause.
[[nodiscard]] weft::detail::io_result accept_from(const weft::detail::fd_handle& h);

// Text to append to an error: why a socket cannot be bound, and the remedy. Empty if unknown.
[[nodiscard]] std::string advice_on_binding(int error);

}  // namespace weft::net::detail
