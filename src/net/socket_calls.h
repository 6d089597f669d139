// socket_calls.h: what the kinds of sockets do alike: making, naming, connecting, accepting.
//
// Who: any thread. See: docs/sockets.md
#pragma once

#include <string>

#include <weft/detail/fd_handle.h>

#include "net/fd_io.h"
#include "net/socket_address.h"

namespace weft::net::detail {

// A new socket. Throws std::system_error, which begins with what.
[[nodiscard]] weft::detail::fd_handle make_socket(int family, int type, int protocol, const std::string& what);

// Takes fd over, a socket of that type, and makes it non-blocking. Throws std::system_error, with fd as it was.
[[nodiscard]] weft::detail::fd_handle adopt_socket(int fd, bool is_unix, int type, const char* what);

// Its own name, or that of who it is connected to. Throws std::system_error.
[[nodiscard]] socket_address name_of(const weft::detail::fd_handle& h, bool of_peer, const char* what);

// Sets an option. Throws std::system_error.
void set_option(const weft::detail::fd_handle& h, int level, int option, int value, const char* what);
void set_option(
    const weft::detail::fd_handle& h, int level, int option, const void* value, uint32_t size, const char* what);

// Connects made, which is a new socket, and waits until that is done.
[[nodiscard]] weft::detail::io_result connect_to(socket_address to, const weft::detail::fd_handle& made);

// Waits for a connection: returns its descriptor, or how it ended. A connection that is gone again is none. Where no descriptor is left for it, it
// says so once, and tries again after a pause.
[[nodiscard]] weft::detail::io_result accept_from(const weft::detail::fd_handle& h);

// Why a socket cannot be bound, and what to do about it: to be added to an error. Empty: nothing is known.
[[nodiscard]] std::string advice_on_binding(int error);

}  // namespace weft::net::detail
