// resolve.cc: see weft/net/resolve.h.
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include <weft/detail/step.h>
#include <weft/error.h>
#include <weft/net/resolve.h>

#include "net/lookup.h"
#include "sched/simulated_fds.h"

namespace weft::net {

namespace {

class category_of_lookups final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "weft.resolve"; }

    [[nodiscard]] std::string message(int value) const override {
        switch (static_cast<resolve_errc>(value)) {
            case resolve_errc::not_found:
                return "the name does not exist; check its spelling";
            case resolve_errc::no_address:
                return "the name has no address of the requested kind";
            case resolve_errc::try_again:
                return "no name server has answered in time; try again later";
            case resolve_errc::failed:
                return "the name server reported a failure; try again later, or use another one";
            case resolve_errc::not_understood:
                return "not a host and a port; write example.org:80, 127.0.0.1:80 or [::1]:80";
        }
        return "unknown";
    }
};

// Removes the host's brackets. Returns false for any text but "host:port".
bool split(std::string_view text, std::string_view& host, uint16_t& port) noexcept {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return false;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
    if (error != std::errc() || stop != end) return false;
    host = text.substr(0, colon);
    if (!host.starts_with('[')) return host.find(':') == std::string_view::npos;
    if (!host.ends_with(']')) return false;
    host = host.substr(1, host.size() - 2);
    return host.find(':') != std::string_view::npos;
}

std::optional<endpoint> address_in(std::string_view host, uint16_t port) {
    const std::string ending = ':' + std::to_string(port);
    if (const auto v4 = endpoint::parse(std::string(host) + ending)) return v4;
    return endpoint::parse('[' + std::string(host) + ']' + ending);
}

std::vector<endpoint> looked_up_in(weft::detail::simulated_fds& all,
                                   std::string_view host,
                                   uint16_t port,
                                   std::error_code& ec,
                                   const resolve_options& how) {
    std::array<uint8_t, 4> address{};
    if (!all.find_host(host, address)) {
        ec = resolve_errc::not_found;
        return {};
    }
    if (how.only == endpoint::ip::v6) {
        ec = resolve_errc::no_address;
        return {};
    }
    return {endpoint(address, port)};
}

std::vector<endpoint> looked_up(std::string_view host, uint16_t port, std::error_code& ec, const resolve_options& how) {
    ec.clear();
    if (const std::optional<endpoint> known = address_in(host, port)) {
        const bool wanted = host.empty() || !how.only || *how.only == known->version();
        if (!wanted) {
            ec = resolve_errc::no_address;
            return {};
        }
        if (!host.empty()) return {*known};
        // This machine: IPv6 first.
        const endpoint by_v4(std::array<uint8_t, 4>{}, port);
        if (how.only) return {*how.only == endpoint::ip::v4 ? by_v4 : *known};
        return {*known, by_v4};
    }
    if (host.size() > 253 || host.find('\0') != std::string_view::npos) {
        ec = resolve_errc::not_understood;
        return {};
    }
    if (weft::detail::simulates()) [[unlikely]] {
        if (weft::detail::simulated_fds* all = weft::detail::simulated_fds_of_caller())
            return looked_up_in(*all, host, port, ec, how);
    }
    detail::lookup_result found = detail::look_up(std::string(host), how.only, how.resolution_delay);
    ec = found.error;
    for (endpoint& e : found.addresses) e = e.with_port(port);
    return std::move(found.addresses);
}

[[noreturn]] void throw_unresolved(std::error_code ec, std::string_view name) {
    throw std::system_error(ec, "weft: resolve \"" + std::string(name.substr(0, 253)) + '"');
}

}  // namespace

const std::error_category& resolve_category() noexcept {
    static const category_of_lookups only;
    return only;
}

std::vector<endpoint> resolve(std::string_view host, uint16_t port, std::error_code& ec, const resolve_options& how) {
    try {
        return looked_up(host, port, ec, how);
    } catch (const cancelled&) {
        ec = errc::cancelled;
    } catch (const timed_out&) {
        ec = errc::timed_out;
    } catch (const std::system_error& e) {  // no thread could be started
        ec = e.code();
    }
    return {};
}

std::vector<endpoint> resolve(std::string_view host, uint16_t port, const resolve_options& how) {
    std::error_code ec;
    std::vector<endpoint> found = looked_up(host, port, ec, how);
    if (ec) throw_unresolved(ec, host);
    return found;
}

std::vector<endpoint> resolve(std::string_view host_and_port, std::error_code& ec, const resolve_options& how) {
    std::string_view host;
    uint16_t port = 0;
    if (split(host_and_port, host, port)) return resolve(host, port, ec, how);
    ec = resolve_errc::not_understood;
    return {};
}

std::vector<endpoint> resolve(std::string_view host_and_port, const resolve_options& how) {
    std::string_view host;
    uint16_t port = 0;
    if (!split(host_and_port, host, port)) throw_unresolved(resolve_errc::not_understood, host_and_port);
    return resolve(host, port, how);
}

}  // namespace weft::net
