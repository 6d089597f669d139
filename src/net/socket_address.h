// socket_address.h: converts addresses to and from the system's form.
#pragma once

#include <cstdint>
#include <optional>

#include <weft/net/endpoint.h>
#include <weft/net/unix.h>

#include "os/sockets.h"

namespace weft::net::detail {

struct socket_address {
    sockaddr_storage storage{};
    uint32_t size = sizeof(sockaddr_storage);

    socket_address() noexcept = default;
    explicit socket_address(const endpoint& at) noexcept;
    explicit socket_address(const unix_address& at) noexcept;

    [[nodiscard]] sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }

    [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }

    // nullopt if it is not an IP address.
    [[nodiscard]] std::optional<endpoint> to_endpoint() const noexcept;

    // Empty if it is not a Unix address.
    [[nodiscard]] unix_address to_unix_address() const noexcept;
};

[[nodiscard]] inline int family_of(const endpoint& at) noexcept {
    return at.version() == endpoint::ip::v4 ? AF_INET : AF_INET6;
}

}  // namespace weft::net::detail
