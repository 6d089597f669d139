// endpoint_fuzz.cc: texts that are addresses with a port, or nearly, and addresses as a system
// might return them.
//
// The expected result of a text is what inet_pton and if_nametoindex make of its parts. Exactly
// what these accept must be accepted.
//
// mutant: src/net/endpoint.cc | '%' + std::to_string(scope_) | '%' + std::to_string(scope_ & 0xff)
#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <weft/net/endpoint.h>

#include "fuzz/check.h"
#include "net/socket_address.h"

namespace {

using weft::net::endpoint;

// The value of text, which must consist of digits only.
std::optional<uint64_t> number(std::string_view text, uint64_t most) {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
    uint64_t n = 0;
    for (const char c : text) {
        n = n * 10 + static_cast<uint64_t>(c - '0');
        if (n > most) return std::nullopt;
    }
    return n;
}

template <std::size_t Size>
bool system_takes(int family, std::string_view text, std::array<uint8_t, Size>& address) {
    if (text.find('\0') != std::string_view::npos) return false;
    return ::inet_pton(family, std::string(text).c_str(), address.data()) == 1;
}

uint32_t scope_of(std::string_view text) {
    if (const auto n = number(text, UINT32_MAX)) return static_cast<uint32_t>(*n);
    if (text.find('\0') != std::string_view::npos) return 0;
    return ::if_nametoindex(std::string(text).c_str());
}

// The meaning of the text, found in another way.
std::optional<endpoint> expected(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto port = number(text.substr(colon + 1), UINT16_MAX);
    if (!port) return std::nullopt;
    const auto port16 = static_cast<uint16_t>(*port);
    const std::string_view host = text.substr(0, colon);
    if (host.empty()) return endpoint().with_port(port16);
    std::array<uint8_t, 4> v4{};
    if (system_takes(AF_INET, host, v4)) return endpoint(v4, port16);
    if (host.size() < 2 || host.front() != '[' || host.back() != ']') return std::nullopt;
    const std::string_view inside = host.substr(1, host.size() - 2);
    const std::size_t percent = inside.find('%');
    std::array<uint8_t, 16> v6{};
    if (!system_takes(AF_INET6, inside.substr(0, percent), v6)) return std::nullopt;
    if (percent == std::string_view::npos) return endpoint(v6, port16);
    const uint32_t scope = scope_of(inside.substr(percent + 1));
    return scope == 0 ? std::nullopt : std::optional(endpoint(v6, port16, scope));
}

std::optional<endpoint> constructed(std::string_view text) {
    try {
        return endpoint(text);
    } catch (const std::invalid_argument& e) {
        fuzz::check(std::strstr(e.what(), "is not an address with a port") != nullptr, "a refusal says why", text);
        return std::nullopt;
    }
}

void check_written_and_read_again(const endpoint& e, std::string_view about) {
    const std::string written = e.to_string();
    fuzz::check(written.size() <= 64, "an address is short when written", about);
    const auto again = endpoint::parse(written);
    fuzz::check(again == e, "an address that is written is the same one when read", about);
    fuzz::check(again->to_string() == written, "it is written the same way again", about);
}

// Converts to a system address and back. IPv4 by way of IPv6 comes back as itself.
void check_system_and_back(const endpoint& e, std::string_view about) {
    const auto back = weft::net::detail::socket_address(e).to_endpoint();
    constexpr std::array<uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    const auto& a = e.address();
    const bool is_mapped = e.version() == endpoint::ip::v6 && std::equal(mapped.begin(), mapped.end(), a.begin());
    const endpoint wanted =
        is_mapped ? endpoint(std::array<uint8_t, 4>{a[12], a[13], a[14], a[15]}, e.port()) : endpoint(e);
    fuzz::check(back == wanted, "the system gets the address that was meant", about);
}

void try_text(std::string_view text) {
    const auto parsed = endpoint::parse(text);
    fuzz::check(parsed == expected(text), "what the system's functions take is what is taken", text);
    fuzz::check(parsed == constructed(text), "parse() and the constructor agree", text);
    if (!parsed) return;
    check_written_and_read_again(*parsed, text);
    check_system_and_back(*parsed, text);
}

// Any address that the system might return.
void try_told(std::string_view bytes) {
    weft::net::detail::socket_address told;
    if (bytes.size() > sizeof(told.storage)) return;
    std::memcpy(&told.storage, bytes.data(), bytes.size());
    for (const int family : {AF_INET, AF_INET6}) {
        told.storage.ss_family = static_cast<sa_family_t>(family);
        const auto e = told.to_endpoint();
        fuzz::check(e.has_value(), "an address of IP is one", bytes);
        check_written_and_read_again(*e, bytes);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text_of(data, size);
    try_text(text);
    if (size != 0) try_told(text);
    return 0;
}
