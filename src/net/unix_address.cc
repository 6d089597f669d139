// unix_address.cc: see weft/net/unix.h.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

#include "net/socket_address.h"
#include "os/fd_calls.h"
#include "os/sockets.h"

namespace weft::net {

namespace os = weft::detail::os;

namespace {

constexpr std::size_t header = offsetof(sockaddr_un, sun_path);
constexpr std::size_t longest_here = sizeof(sockaddr_un) - header - 1;
static_assert(longest_here <= unix_address::longest);

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
    const std::string shown(text.substr(0, std::min(text.find('\0'), unix_address::longest)));
    throw std::invalid_argument("weft::net::unix_address: \"" + shown + "\" " + std::string(why));
}

std::string too_long(const char* remedy) {
    return "is longer than " + std::to_string(longest_here) + " bytes, the maximum; use " + remedy;
}

}  // namespace

unix_address::unix_address(std::string_view path) {
    if (path.starts_with('@')) {
        *this = abstract_name(path.substr(1));
        return;
    }
    if (path.empty()) refuse(path, "is not a path; write one, or @name for an abstract name");
    if (path.size() > longest_here) refuse(path, too_long("a shorter or a relative path"));
    if (path.find('\0') != std::string_view::npos) refuse(path, "contains a zero byte, where the system would end it");
    std::copy(path.begin(), path.end(), bytes_.begin());
    size_ = static_cast<uint16_t>(path.size());
}

unix_address unix_address::abstract_name(std::string_view name) {
    if (!os::has_abstract_names()) refuse(name, "is an abstract name, which this system does not have; use a path");
    if (name.size() > longest_here) refuse(name, too_long("a shorter name"));
    unix_address made;
    std::copy(name.begin(), name.end(), made.bytes_.begin() + 1);
    made.size_ = static_cast<uint16_t>(name.size() + 1);
    return made;
}

std::string unix_address::to_string() const {
    if (is_unnamed()) return "unnamed";
    return is_abstract() ? '@' + std::string(name()) : std::string(path());
}

namespace detail {

socket_address::socket_address(const unix_address& at) noexcept {
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    std::size_t length = 0;
    if (at.is_abstract()) {
        length = at.name().size() + 1;
        std::memcpy(un.sun_path + 1, at.name().data(), at.name().size());
    } else if (!at.is_unnamed()) {
        length = std::min(at.path().size() + 1, sizeof(un.sun_path));
        std::memcpy(un.sun_path, at.path().data(), at.path().size());
    }
    std::memcpy(&storage, &un, sizeof(un));
    size = static_cast<uint32_t>(header + length);
}

unix_address socket_address::to_unix_address() const noexcept {
    if (storage.ss_family != AF_UNIX || size <= header) return {};
    sockaddr_un un{};
    std::memcpy(&un, &storage, std::min<std::size_t>(size, sizeof(un)));
    const std::size_t length = std::min<std::size_t>(size, sizeof(un)) - header;
    // A path of maximum length has no terminating 0. A leading "@" does not make it abstract here.
    unix_address address;
    const bool is_path = un.sun_path[0] != '\0' || !os::has_abstract_names();
    const std::size_t used = is_path ? ::strnlen(un.sun_path, length) : length;
    std::copy(un.sun_path, un.sun_path + used, address.bytes_.begin());
    address.size_ = static_cast<uint16_t>(used);
    return address;
}

}  // namespace detail

}  // namespace weft::net
