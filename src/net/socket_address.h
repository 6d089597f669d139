// socket_address.h: an endpoint as the system wants it, and back.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include <weft/net/endpoint.h>

namespace weft::net::detail {

struct socket_address {
    sockaddr_storage storage{};
    uint32_t size = sizeof(sockaddr_storage);

    socket_address() noexcept = default;
    explicit socket_address(const endpoint& at) noexcept;

    [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }

    // nullopt: of no IP address.
    [[nodiscard]] std::optional<endpoint> to_endpoint() const noexcept;
};

[[nodiscard]] inline int family_of(const endpoint& at) noexcept {
    return at.version() == endpoint::ip::v4 ? AF_INET : AF_INET6;
}

}  // namespace weft::net::detail
