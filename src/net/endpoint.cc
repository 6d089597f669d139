// endpoint.cc: see weft/net/endpoint.h.

#include <algorithm>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include <weft/net/endpoint.h>

#include "net/socket_address.h"
#include "os/sockets.h"

namespace weft::net {

namespace {

constexpr std::size_t text_max = 128;

template <typename T>
bool read_number(std::string_view text, T most, T& value) noexcept {
    const char* begin = text.data();
    const char* end = begin + text.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    return error == std::errc() && stop == end && !text.empty() && value <= most;
}

bool read_scope(std::string_view text, uint32_t& scope) noexcept {
    if (read_number(text, UINT32_MAX, scope)) return scope != 0;
    char name[IF_NAMESIZE] = {};
    if (text.empty() || text.size() >= sizeof(name) || text.find('\0') != std::string_view::npos) return false;
    std::memcpy(name, text.data(), text.size());
    scope = ::if_nametoindex(name);
    return scope != 0;
}

// inet_pton needs a terminating 0.
template <std::size_t Size>
bool read_address(int family, std::string_view text, std::array<uint8_t, Size>& address) noexcept {
    char copy[text_max] = {};
    if (text.empty() || text.size() >= sizeof(copy)) return false;
    std::memcpy(copy, text.data(), text.size());
    return std::strlen(copy) == text.size() && ::inet_pton(family, copy, address.data()) == 1;
}

// Escapes zero bytes, at which what() ends.
std::string shown(std::string_view text) {
    std::string all;
    for (const char c : text.substr(0, text_max)) all += c == '\0' ? std::string("\\0") : std::string(1, c);
    return all;
}

}  // namespace

endpoint::endpoint(const std::array<uint8_t, 4>& address, uint16_t port) noexcept : port_(port), version_(ip::v4) {
    std::copy(address.begin(), address.end(), address_.begin());
}

endpoint::endpoint(const std::array<uint8_t, 16>& address, uint16_t port, uint32_t scope) noexcept
    : address_(address), scope_(scope), port_(port), version_(ip::v6) {}

endpoint endpoint::loopback_v6(uint16_t port) noexcept {
    std::array<uint8_t, 16> address{};
    address.back() = 1;
    return {address, port};
}

std::optional<endpoint> endpoint::parse(std::string_view text) noexcept {
    const std::size_t colon = text.rfind(':');
    uint16_t port = 0;
    if (colon == std::string_view::npos || !read_number<uint16_t>(text.substr(colon + 1), UINT16_MAX, port)) {
        return std::nullopt;
    }
    std::string_view host = text.substr(0, colon);
    if (host.empty()) return endpoint().with_port(port);
    if (host.front() != '[') {
        std::array<uint8_t, 4> v4{};
        if (!read_address(AF_INET, host, v4)) return std::nullopt;
        return endpoint(v4, port);
    }
    if (host.back() != ']') return std::nullopt;
    host = host.substr(1, host.size() - 2);
    uint32_t scope = 0;
    if (const std::size_t percent = host.find('%'); percent != std::string_view::npos) {
        if (!read_scope(host.substr(percent + 1), scope)) return std::nullopt;
        host = host.substr(0, percent);
    }
    std::array<uint8_t, 16> v6{};
    if (!read_address(AF_INET6, host, v6)) return std::nullopt;
    return endpoint(v6, port, scope);
}

endpoint::endpoint(std::string_view text) {
    const std::optional<endpoint> parsed = parse(text);
    if (!parsed) {
        throw std::invalid_argument("weft::net::endpoint: \"" + shown(text) +
                                    "\" is not an address with a port; write 127.0.0.1:80, [::1]:80, or :80 for every "
                                    "address; to look up a name, use weft::net::resolve");
    }
    *this = *parsed;
}

std::string endpoint::to_string() const {
    char text[INET6_ADDRSTRLEN] = {};
    if (version_ == ip::v4) {
        ::inet_ntop(AF_INET, address_.data(), text, sizeof(text));
        return std::string(text) + ':' + std::to_string(port_);
    }
    ::inet_ntop(AF_INET6, address_.data(), text, sizeof(text));
    const std::string scope = scope_ == 0 ? std::string() : '%' + std::to_string(scope_);
    return '[' + std::string(text) + scope + "]:" + std::to_string(port_);
}

namespace detail {

socket_address::socket_address(const endpoint& at) noexcept {
    if (at.version() == endpoint::ip::v4) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(at.port());
        std::memcpy(&in.sin_addr, at.address().data(), sizeof(in.sin_addr));
        std::memcpy(&storage, &in, sizeof(in));
        size = sizeof(in);
    } else {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htons(at.port());
        in.sin6_scope_id = at.scope();
        std::memcpy(&in.sin6_addr, at.address().data(), sizeof(in.sin6_addr));
        std::memcpy(&storage, &in, sizeof(in));
        size = sizeof(in);
    }
}

std::optional<endpoint> socket_address::to_endpoint() const noexcept {
    if (storage.ss_family == AF_INET) {
        sockaddr_in in{};
        std::memcpy(&in, &storage, sizeof(in));
        std::array<uint8_t, 4> address{};
        std::memcpy(address.data(), &in.sin_addr, address.size());
        return endpoint(address, ntohs(in.sin_port));
    }
    if (storage.ss_family != AF_INET6) return std::nullopt;
    sockaddr_in6 in{};
    std::memcpy(&in, &storage, sizeof(in));
    std::array<uint8_t, 16> address{};
    std::memcpy(address.data(), &in.sin6_addr, address.size());
    // A dual-stack socket maps IPv4 addresses.
    constexpr std::array<uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::equal(mapped.begin(), mapped.end(), address.begin())) {
        return endpoint(std::array<uint8_t, 4>{address[12], address[13], address[14], address[15]},
                        ntohs(in.sin6_port));
    }
    return endpoint(address, ntohs(in.sin6_port), in.sin6_scope_id);
}

}  // namespace detail

}  // namespace weft::net
