// lookup.h: the addresses of a name, for a caller that waits for them.
//
// The problem. A name has addresses of two versions, and the servers of some names answer only the question about one of them. getaddrinfo asks both
// questions and waits for both answers: a name whose AAAA question is never answered takes it 9 s. RFC 8305 (3) asks both at once, and gives the second
// answer 50 ms (resolution delay) when the first one has come.
//
//   Q1  the lookup of both versions is begun. It is the best answer: the system has sorted all addresses together (RFC 6724, /etc/gai.conf)
//   Q2  it has not ended after the resolution delay: each version is looked up by itself, too
//   Q3  one version has addresses: the rest is waited for as long again, and then left alone. IPv4 is waited for longer (ipv4_grace),
//       because many machines have nothing else. If both versions have addresses, the rest is the lookup of both, which knows their order;
//       without it those of IPv6 come first
//   Q4  the lookup of both has addresses: they are the answer. If it has failed, its error is the answer unless a version has addresses: the two
//       lookups may ask different servers, or the same one at different times. Or both versions have ended, and there is nothing to sort
//
// Threads that do it: lookup_threads.h. While a lookup is under way the program is in no deadlock (external_waker).
//
// Rejected. Only lookups of one version: somebody else would have to sort their addresses together, without the system's configuration, and
// each name would be two lookups. A resolver of our own, or c-ares: they would not see what nsswitch.conf names. A green thread in blocking() for each
// lookup: stop() would have to wait for it, and a caller that is cancelled could not go on.
//
// Who: any thread. See: docs/sockets.md
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <weft/net/endpoint.h>

namespace weft::net::detail {

// What was found: addresses with port 0, or why there are none.
struct lookup_result {
    std::vector<endpoint> addresses;
    std::error_code error;
};

// Looks host up, or waits for a lookup of it that is under way. A cancellation point. Throws weft::cancelled, weft::timed_out, std::bad_alloc,
// std::system_error if no thread can be started.
[[nodiscard]] lookup_result look_up(const std::string& host,
                                    std::optional<endpoint::ip> only,
                                    std::chrono::nanoseconds resolution_delay);

// In place of the system's resolver, for tests: nullptr is the system's. While nothing is looked up.
using lookup_function = lookup_result (*)(const std::string& host, std::optional<endpoint::ip> only);
void set_lookup_function(lookup_function f) noexcept;

// How many wait for lookups that have not ended, in this process.
[[nodiscard]] unsigned callers_for_test();

}  // namespace weft::net::detail
