// system_lookup.cc: see system_lookup.h.
#include "net/system_lookup.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include <weft/net/resolve.h>

#include "base/atomic.h"
#include "net/socket_address.h"
#include "os/sockets.h"

namespace weft::net::detail {

namespace {

constinit weft::detail::atomic<lookup_function> in_place_of_the_system{nullptr};

// Systems may lack either of these codes.
bool means_no_address([[maybe_unused]] int code) noexcept {
#if defined(EAI_NODATA) && EAI_NODATA != EAI_NONAME
    if (code == EAI_NODATA) return true;
#endif
#if defined(EAI_ADDRFAMILY)
    if (code == EAI_ADDRFAMILY) return true;
#endif
    return false;
}

std::error_code error_of(int code, [[maybe_unused]] int system_error) noexcept {
    if (means_no_address(code)) return resolve_errc::no_address;
    switch (code) {
        case EAI_NONAME:
            return resolve_errc::not_found;
        case EAI_AGAIN:
            return resolve_errc::try_again;
#if defined(EAI_SYSTEM)
        case EAI_SYSTEM:
            return {system_error, std::generic_category()};
#endif
        case EAI_MEMORY:
            return {ENOMEM, std::generic_category()};
        default:
            return resolve_errc::failed;
    }
}

lookup_result ask_the_system(const std::string& host, int family) {
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;  // otherwise each address is returned once per type
    addrinfo* found = nullptr;
    weft::detail::os::start_sockets();
    const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
    if (code != 0) return {{}, error_of(code, errno)};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
    lookup_result all;
    for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
        socket_address address;
        if (a->ai_addrlen > sizeof(address.storage)) continue;
        std::memcpy(&address.storage, a->ai_addr, a->ai_addrlen);
        address.size = a->ai_addrlen;
        if (const std::optional<endpoint> e = address.to_endpoint()) all.addresses.push_back(*e);
    }
    if (all.addresses.empty()) all.error = resolve_errc::no_address;
    return all;
}

}  // namespace

lookup_result perform_lookup(const std::string& host, int family) noexcept {
    try {
        // acquire: pairs with set_lookup_function
        const lookup_function instead = in_place_of_the_system.load(weft::detail::acquire);
        if (instead == nullptr) return ask_the_system(host, family);
        if (family == AF_UNSPEC) return instead(host, std::nullopt);
        return instead(host, family == AF_INET ? endpoint::ip::v4 : endpoint::ip::v6);
    } catch (...) {
        return {{}, std::make_error_code(std::errc::not_enough_memory)};
    }
}

void set_lookup_function(lookup_function f) noexcept {
    in_place_of_the_system.store(f, weft::detail::release);  // pairs with perform_lookup
}

}  // namespace weft::net::detail
