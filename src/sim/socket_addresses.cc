// socket_addresses.cc: see socket_addresses.h.
#include "sim/socket_addresses.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "os/sockets.h"

namespace weft::sim {

using net::endpoint;
using net::detail::socket_address;

ip bytes_of(const endpoint& e) noexcept {
    if (e.version() == endpoint::ip::v6) return e.address();
    return mapped({e.address()[0], e.address()[1], e.address()[2], e.address()[3]});
}

endpoint endpoint_of(int family, const ip& address, uint16_t port) noexcept {
    if (family == AF_INET6) return {address, port};
    return {std::array<uint8_t, 4>{address[12], address[13], address[14], address[15]}, port};
}

socket_address read_address(const sockaddr* from, uint32_t size) noexcept {
    socket_address a;
    a.size = std::min(size, static_cast<uint32_t>(sizeof(a.storage)));
    std::memcpy(&a.storage, from, a.size);
    return a;
}

std::string path_of(const net::unix_address& a) {
    return a.is_abstract() ? std::string(1, '\0') + std::string(a.name()) : std::string(a.path());
}

socket_address unix_socket_address(const std::string& path) {
    if (path.empty()) return socket_address(net::unix_address());
    if (path.front() != '\0') return socket_address(net::unix_address(path));
    return socket_address(net::unix_address::abstract_name(std::string_view(path).substr(1)));
}

}  // namespace weft::sim
