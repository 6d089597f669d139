// socket_addresses.h: addresses of simulated sockets, from and to the system's form.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <string>

#include <weft/net/endpoint.h>
#include <weft/net/unix.h>

#include "net/socket_address.h"
#include "sim/hosts.h"

namespace weft::sim {

[[nodiscard]] ip bytes_of(const net::endpoint& e) noexcept;
[[nodiscard]] net::endpoint endpoint_of(int family, const ip& address, uint16_t port) noexcept;
[[nodiscard]] net::detail::socket_address read_address(const sockaddr* from, uint32_t size) noexcept;

// A path, or for an abstract name "\0name". Empty: none.
[[nodiscard]] std::string path_of(const net::unix_address& a);
[[nodiscard]] net::detail::socket_address unix_socket_address(const std::string& path);

}  // namespace weft::sim
