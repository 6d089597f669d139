// resolve.h: looks up names, and connects to a name.
//
//     weft::net::tcp_stream c = weft::net::dial("example.org:80");
//
// Names are looked up with getaddrinfo, like in any other program of this machine: /etc/hosts, DNS,
// and what nsswitch.conf says. That blocks a thread, often for milliseconds, and for many seconds
// if a name server does not answer. So lookups run on threads of their own:
//
// - They start on demand and end after two seconds without a request.
// - 8 run at once; one more starts for each lookup that no thread has begun after 10 ms; at most
//   128.
// - The names of one domain (the last two labels) use at most half of the 128. The last 32 serve
//   only domains that have none. So up to 31 domains with silent servers do not delay others.
// - A cancellation or deadline ends a green thread's wait at once; the lookup continues without it.
// - Concurrent lookups of a name share one, unless all its callers have given it up.
// - Nothing is cached.
//
// May be called by any thread. See: docs/sockets.md
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include <weft/detail/require.h>
#include <weft/net/endpoint.h>
#include <weft/net/tcp.h>

namespace weft::net {

struct resolve_options {
    std::optional<endpoint::ip> only = {};  ///< addresses of this version only; otherwise both

    /// If both versions are asked for: how long to wait for the second answer when there is a first
    /// one (RFC 8305). If the lookup takes longer than this, each version is also looked up by
    /// itself. IPv4 addresses suffice if those of IPv6, or the joint lookup, take as long again.
    /// IPv6 addresses alone suffice only after at least one second.
    std::chrono::nanoseconds resolution_delay = std::chrono::milliseconds(50);
};

/// Returns the addresses of a host with the given port, in the order in which to try them (RFC
/// 6724). If the joint lookup takes so long that only the lookups per version have ended
/// (resolution_delay), each version's addresses are in that order, IPv6 first. An address instead
/// of a name is returned at once, and so is an empty host: every address of this machine. Throws
/// std::system_error, with a code of resolve_category() or of the system; weft::cancelled;
/// weft::timed_out.
[[nodiscard]] std::vector<endpoint> resolve(std::string_view host, uint16_t port, const resolve_options& how = {});
[[nodiscard]] std::vector<endpoint> resolve(std::string_view host,
                                            uint16_t port,
                                            std::error_code& ec,
                                            const resolve_options& how = {});

/// Takes host and port as one text: "example.org:443", "127.0.0.1:80", "[::1]:80", ":80".
[[nodiscard]] std::vector<endpoint> resolve(std::string_view host_and_port, const resolve_options& how = {});
[[nodiscard]] std::vector<endpoint> resolve(std::string_view host_and_port,
                                            std::error_code& ec,
                                            const resolve_options& how = {});

/// Why a lookup found nothing.
enum class resolve_errc {
    not_found = 1,   ///< the name does not exist
    no_address,      ///< the name has no address of the requested version
    try_again,       ///< a name server did not answer in time
    failed,          ///< a name server reported a failure
    not_understood,  ///< the text is not a host and a port
};

[[nodiscard]] const std::error_category& resolve_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(resolve_errc e) noexcept {
    return {static_cast<int>(e), resolve_category()};
}

struct dial_options {
    resolve_options names = {};

    /// How long one address is tried before the next one is tried in parallel (RFC 8305).
    std::chrono::nanoseconds fallback_delay = std::chrono::milliseconds(250);
};

/// Connects to the first address that answers. Addresses are tried in order, alternating IPv6 and
/// IPv4. The next one starts in parallel if the previous ones have not answered after
/// fallback_delay, or at once if they have refused. The other attempts are abandoned. Throws
/// std::system_error: the error of the first address, or of the lookup. In a plain thread it uses
/// the default runtime.
[[nodiscard]] tcp_stream dial(std::string_view host_and_port, const dial_options& how = {});
[[nodiscard]] tcp_stream dial(std::string_view host_and_port, std::error_code& ec, const dial_options& how = {});

/// As above, for known addresses.
[[nodiscard]] tcp_stream dial(std::span<const endpoint> addresses, std::error_code& ec, const dial_options& how = {});

}  // namespace weft::net

template <>
struct std::is_error_code_enum<weft::net::resolve_errc> : std::true_type {};
