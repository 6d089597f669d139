// endpoint.h: an IP address and a port: where a socket is, or what it connects to.
//
// A value of 24 bytes that can be compared and copied. It is never a name. resolve (resolve.h)
// looks up names, which may take time and yields several endpoints.
//
//   net::endpoint("127.0.0.1:8080")   net::endpoint("[2001:db8::1]:443")   net::endpoint("[fe80::1%eth0]:80")
//   net::endpoint(":8080")            every address of this machine, IPv6 and IPv4; to connect to: this machine
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <weft/detail/require.h>

namespace weft::net {

class endpoint {
public:
    enum class ip : uint8_t { v4, v6 };

    /// Every address of this machine, port 0: the system chooses a port on bind.
    endpoint() = default;

    /// Parses text of the form above. Throws std::invalid_argument, which says what is wrong and
    /// what was expected.
    explicit endpoint(std::string_view text);

    /// From the bytes of an address, in network order.
    endpoint(const std::array<uint8_t, 4>& address, uint16_t port) noexcept;
    endpoint(const std::array<uint8_t, 16>& address, uint16_t port, uint32_t scope = 0) noexcept;

    /// Parses text; returns nullopt if it is not an endpoint. O(n).
    [[nodiscard]] static std::optional<endpoint> parse(std::string_view text) noexcept;

    /// The loopback address: this machine, reachable only from itself.
    [[nodiscard]] static endpoint loopback(uint16_t port) noexcept {
        return {std::array<uint8_t, 4>{127, 0, 0, 1}, port};
    }

    [[nodiscard]] static endpoint loopback_v6(uint16_t port) noexcept;

    [[nodiscard]] ip version() const noexcept { return version_; }

    [[nodiscard]] uint16_t port() const noexcept { return port_; }

    /// address(): an IPv4 address is in the first four bytes. scope(): the interface index of a
    /// link-local IPv6 address.
    [[nodiscard]] const std::array<uint8_t, 16>& address() const noexcept { return address_; }

    [[nodiscard]] uint32_t scope() const noexcept { return scope_; }

    /// Whether it stands for every address of this machine.
    [[nodiscard]] bool is_any() const noexcept { return address_ == std::array<uint8_t, 16>{}; }

    /// The same address with another port.
    [[nodiscard]] endpoint with_port(uint16_t port) const noexcept {
        endpoint other = *this;
        other.port_ = port;
        return other;
    }

    /// The text form; parse() of it returns an equal endpoint.
    [[nodiscard]] std::string to_string() const;

    friend auto operator<=>(const endpoint&, const endpoint&) noexcept = default;

private:
    std::array<uint8_t, 16> address_{};
    uint32_t scope_ = 0;
    uint16_t port_ = 0;
    ip version_ = ip::v6;
};

}  // namespace weft::net
