// dial.cc: connects to one of several addresses (RFC 8305: "happy eyeballs").
//
// Trying all addresses at once would burden the servers; one after the other could take minutes.
//
// Each try is a green thread of a scope. The channel for reports has room for all, so that none
// waits for a reader that has left.
#include <algorithm>
#include <utility>

#include <weft/cancel.h>
#include <weft/chan.h>
#include <weft/error.h>
#include <weft/net/resolve.h>
#include <weft/scope.h>

namespace weft::net {

namespace {

struct attempt {
    tcp_stream connection;
    std::error_code error;
};

std::vector<endpoint> by_turns(std::span<const endpoint> addresses) {
    std::vector<endpoint> first;
    std::vector<endpoint> second;
    for (const endpoint& a : addresses) (a.version() == addresses.front().version() ? first : second).push_back(a);
    std::vector<endpoint> all;
    all.reserve(addresses.size());
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
        if (i < first.size()) all.push_back(first[i]);
        if (i < second.size()) all.push_back(second[i]);
    }
    return all;
}

// If there are more addresses to try, waits at most for the delay.
std::optional<attempt> next_report(const chan<attempt>& reports, bool more, std::chrono::nanoseconds delay) {
    if (!more) return reports.recv();
    return std::move(reports.recv_for(delay).value);
}

tcp_stream first_to_answer(const std::vector<endpoint>& all, std::error_code& ec, std::chrono::nanoseconds delay) {
    const chan<attempt> reports(all.size());
    tcp_stream winner;
    std::error_code first_error;
    scope([&](task_scope& s) {
        std::size_t started = 0;
        std::size_t failed = 0;
        while (failed < all.size()) {
            if (started < all.size()) {
                s.go([&reports, to = all[started]] {
                    attempt a;
                    a.connection = tcp_stream::connect(to, a.error);
                    reports.send(std::move(a));
                });
                ++started;
            }
            for (;;) {
                std::optional<attempt> report = next_report(reports, started < all.size(), delay);
                if (!report) break;  // too slow: try one more
                if (!report->error) {
                    winner = std::move(report->connection);
                    s.cancel();
                    return;
                }
                if (failed++ == 0) first_error = report->error;
                if (started < all.size() || failed == all.size()) break;
            }
        }
    });
    ec = winner.is_open() ? std::error_code() : first_error;
    return winner;
}

}  // namespace

tcp_stream dial(std::span<const endpoint> addresses, std::error_code& ec, const dial_options& how) {
    if (addresses.empty()) {
        ec = resolve_errc::no_address;
        return {};
    }
    if (addresses.size() == 1) return tcp_stream::connect(addresses.front(), ec);
    try {
        return first_to_answer(by_turns(addresses), ec, how.fallback_delay);
    } catch (const cancelled&) {
        ec = errc::cancelled;
    } catch (const timed_out&) {
        ec = errc::timed_out;
    }
    return {};
}

tcp_stream dial(std::string_view host_and_port, std::error_code& ec, const dial_options& how) {
    const std::vector<endpoint> addresses = resolve(host_and_port, ec, how.names);
    return ec ? tcp_stream() : dial(addresses, ec, how);
}

tcp_stream dial(std::string_view host_and_port, const dial_options& how) {
    const std::vector<endpoint> addresses = resolve(host_and_port, how.names);
    std::error_code ec;
    tcp_stream connection = dial(addresses, ec, how);
    if (ec == errc::cancelled || ec == errc::timed_out) throw_if_cancelled();  // as in any interrupted wait
    if (!ec) return connection;
    std::string tried;
    for (const endpoint& a : addresses) tried += (tried.empty() ? " (tried " : ", ") + a.to_string();
    throw std::system_error(ec, "weft: dial \"" + std::string(host_and_port) + '"' + tried + ')');
}

}  // namespace weft::net
