// unix_address_fuzz.cc: paths and abstract names of Unix sockets, and addresses as a system might
// return them.
//
// mutant: src/net/unix_address.cc | if (path.find('\0') != std::string_view::npos) | if (path.front() == '\0')
#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "fuzz/check.h"
#include "net/socket_address.h"

namespace {

using weft::net::unix_address;
using weft::net::detail::socket_address;

bool is_expected(std::string_view text) {
    if (text.starts_with('@')) return text.size() - 1 <= unix_address::longest;
    return !text.empty() && text.size() <= unix_address::longest && text.find('\0') == std::string_view::npos;
}

std::optional<unix_address> constructed(std::string_view text) {
    try {
        return unix_address(text);
    } catch (const std::invalid_argument& e) {
        fuzz::check(std::strstr(e.what(), "weft::net::unix_address: \"") == e.what(), "a refusal says whose it is",
                    text);
        return std::nullopt;
    }
}

void try_text(std::string_view text) {
    const auto a = constructed(text);
    fuzz::check(a.has_value() == is_expected(text), "paths that fit and have no 0, and names that fit, are taken",
                text);
    if (!a) return;
    fuzz::check(!a->is_unnamed() && a->is_abstract() == text.starts_with('@'), "it is a path, or a name", text);
    fuzz::check(a->to_string() == text, "it is written as it was read", text);
    fuzz::check((a->is_abstract() ? a->name() : a->path()) == text.substr(a->is_abstract() ? 1 : 0),
                "path and name are those that were read", text);
    const socket_address to_system(*a);
    fuzz::check(to_system.size <= sizeof(sockaddr_storage) && to_system.to_unix_address() == *a,
                "the system gets the address that was meant", text);
}

// Any address that the system might return. The first byte is the size that it claims.
void try_told(std::string_view bytes) {
    socket_address told;
    const std::string_view rest = bytes.substr(1);
    told.size = static_cast<uint8_t>(bytes.front()) % (sizeof(told.storage) + 1);
    std::memcpy(&told.storage, rest.data(), std::min(rest.size(), sizeof(told.storage)));
    const unix_address other = told.to_unix_address();
    if (told.storage.ss_family != AF_UNIX)
        fuzz::check(other.is_unnamed(), "what is no Unix address has no name", bytes);
    told.storage.ss_family = AF_UNIX;
    const unix_address a = told.to_unix_address();
    fuzz::check(a.path().find('\0') == std::string_view::npos, "no path has a 0 in it", bytes);
    fuzz::check(a.path().empty() || a.name().empty(), "it is a path or a name", bytes);
    if (a.path().size() <= unix_address::longest && !a.is_unnamed())
        fuzz::check(socket_address(a).to_unix_address() == a, "the system gets back what it has told", bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    const std::string_view text = fuzz::text_of(data, size);
    try_text(text);
    if (size != 0) try_told(text);
    return 0;
}
