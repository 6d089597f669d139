// resolve.h: from names to addresses, and to a connection.
//
//     weft::net::tcp_stream c = weft::net::dial("example.org:80");
//
// Names are looked up as every other program of this machine does it (getaddrinfo: /etc/hosts, DNS, whatever nsswitch.conf says), which blocks
// a thread, often for milliseconds, and for many seconds when a name server does not answer. So it is done by threads of its own, which are started
// when they are needed, and end when nothing has been asked for two seconds: 8 at once, one more for each lookup that no thread has begun after 10 ms,
// 128 at most, no more than half of these for the names of one domain (their last two labels), and the last 32 only for domains that have none: up to
// 31 domains whose servers are silent do not keep the names of others waiting. A green thread that waits for a name waits like any other: a
// cancellation or deadline ends the wait at once, and the lookup goes on without it. Callers that ask for the same at the same time share one lookup;
// one that all its callers have given up is not shared. Nothing is kept.
//
// Any thread. See: docs/sockets.md
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
    std::optional<endpoint::ip> only = {};  // addresses of that version; otherwise of both

    // Of both versions: how long the second answer is waited for when there is a first one (RFC 8305). A lookup that takes longer than this is
    // made for each version by itself, too; addresses of IPv4 are enough if those of IPv6, or the lookup of both, do not come for as long again.
    // Those of IPv6 alone are enough after a second at least.
    std::chrono::nanoseconds resolution_delay = std::chrono::milliseconds(50);
};

// The addresses of a host, in the order in which they should be tried (RFC 6724), each with that port. Where the lookup of both versions takes so
// long that only those of each version have ended (resolution_delay), the addresses of each version are in that order, and those of IPv6 come first.
// An address in place of a name is taken as it is, at once, and so is an empty host: every address of this machine. Throws
// std::system_error, with a code of resolve_category() or of the system; weft::cancelled, weft::timed_out.
[[nodiscard]] std::vector<endpoint> resolve(std::string_view host, uint16_t port, const resolve_options& how = {});
[[nodiscard]] std::vector<endpoint> resolve(std::string_view host,
                                            uint16_t port,
                                            std::error_code& ec,
                                            const resolve_options& how = {});

// As it is written: "example.org:443", "127.0.0.1:80", "[::1]:80", ":80".
[[nodiscard]] std::vector<endpoint> resolve(std::string_view host_and_port, const resolve_options& how = {});
[[nodiscard]] std::vector<endpoint> resolve(std::string_view host_and_port,
                                            std::error_code& ec,
                                            const resolve_options& how = {});

// What a lookup says when it finds nothing.
enum class resolve_errc {
    not_found = 1,   // there is no such name
    no_address,      // the name has no address, of that version
    try_again,       // a name server has not answered in time
    failed,          // a name server has said that it cannot
    not_understood,  // it is no host and port
};

[[nodiscard]] const std::error_category& resolve_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(resolve_errc e) noexcept {
    return {static_cast<int>(e), resolve_category()};
}

struct dial_options {
    resolve_options names = {};

    // How long an address is tried before the next one is tried beside it (RFC 8305).
    std::chrono::nanoseconds fallback_delay = std::chrono::milliseconds(250);
};

// Connects to the first address that answers: they are tried in their order, IPv6 and IPv4 by turns, each beside those before it that have not
// answered after fallback_delay, or at once if they have refused. The others are given up. Throws std::system_error: the first
// one's error, or the lookup's. From a plain thread: in the default runtime.
[[nodiscard]] tcp_stream dial(std::string_view host_and_port, const dial_options& how = {});
[[nodiscard]] tcp_stream dial(std::string_view host_and_port, std::error_code& ec, const dial_options& how = {});

// The same, with addresses that are known.
[[nodiscard]] tcp_stream dial(std::span<const endpoint> addresses, std::error_code& ec, const dial_options& how = {});

}  // namespace weft::net

template <>
struct std::is_error_code_enum<weft::net::resolve_errc> : std::true_type {};
