// access_rules.cc: see access_rules.h.
#include "observe/page/access_rules.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <system_error>

namespace weft::observe::detail {

namespace {

// Reads what the kernel's random generator gives, where there is no getrandom (Linux before 3.17).
std::size_t read_random_device(void* into, std::size_t size) {
    const int device = ::open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    const ssize_t n = device < 0 ? -1 : ::read(device, into, size);
    const int error = errno;
    if (device >= 0) ::close(device);
    if (n <= 0) throw std::system_error(error, std::generic_category(), "weft: cannot read /dev/urandom");
    return static_cast<std::size_t>(n);
}

}  // namespace

std::string random_token() {
    std::array<unsigned char, 16> bits{};
    std::size_t filled = 0;
    while (filled < bits.size()) {
        unsigned char* const free = bits.data() + filled;
        const ssize_t n = ::getrandom(free, bits.size() - filled, 0);
        if (n > 0) filled += static_cast<std::size_t>(n);
        if (n < 0 && errno != EINTR) filled += read_random_device(free, bits.size() - filled);
    }
    std::string text;
    for (const unsigned char byte : bits) {
        constexpr std::string_view digits = "0123456789abcdef";
        (text += digits[byte >> 4]) += digits[byte & 15];
    }
    return text;
}

void check_token(std::string_view token) {
    const auto is_allowed = [](char c) { return c == '-' || c == '_' || std::isalnum(static_cast<unsigned char>(c)); };
    if (token.size() < 16 || token.size() > 128 || !std::all_of(token.begin(), token.end(), is_allowed)) {
        throw std::invalid_argument("weft: page_options::token has " + std::to_string(token.size()) +
                                    " characters; it must be 16 to 128 letters, digits, - and _");
    }
}

bool is_loopback(const net::endpoint& at) noexcept {
    const std::array<uint8_t, 16>& address = at.address();
    if (at.version() == net::endpoint::ip::v4) return address[0] == 127;
    if (at == net::endpoint::loopback_v6(at.port())) return true;
    constexpr std::array<uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};  // IPv4 in IPv6
    return std::equal(mapped.begin(), mapped.end(), address.begin()) && address[12] == 127;
}

bool are_equal(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
    return difference == 0;
}

std::string_view value_in_query(std::string_view query, std::string_view name) noexcept {
    while (!query.empty()) {
        const std::size_t size = std::min(query.find('&'), query.size());
        const std::string_view one = query.substr(0, size);
        query.remove_prefix(std::min(size + 1, query.size()));
        if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) return one.substr(name.size() + 1);
    }
    return {};
}

std::string_view bearer_token(std::string_view authorization) noexcept {
    constexpr std::string_view scheme = "bearer ";  // in upper or lower case
    const auto is_same = [](char expected, char c) {
        return expected == static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    };
    if (authorization.size() < scheme.size() ||
        !std::equal(scheme.begin(), scheme.end(), authorization.begin(), is_same))
        return {};
    authorization.remove_prefix(std::min(authorization.find_first_not_of(' ', scheme.size()), authorization.size()));
    return authorization;
}

bool names_no_other_host(std::string_view host) {
    constexpr std::string_view localhost = "localhost";
    if (host == localhost || (host.starts_with(localhost) && host[localhost.size()] == ':')) return true;
    std::string with_port(host);
    if (net::endpoint::parse(with_port)) return !host.starts_with(':');
    return net::endpoint::parse(with_port += ":80").has_value() && !host.empty();
}

}  // namespace weft::observe::detail
