// lookup.h: looks up the addresses of a name for a caller that waits.
//
// Problem. Some name servers answer only the query for one IP version. getaddrinfo waits for both
// answers, up to 9 s. RFC 8305 (3) allows the second answer 50 ms (resolution delay) after the
// first.
//
//   Q1  Look up both versions: the system sorts all addresses
//   Q2  If that has not ended after the resolution delay, look up each version by itself, too
//   Q3  Once one version has addresses, wait for the rest as long again, then stop. The wait for
//       IPv4 is longer (ipv4_grace), because many machines have nothing else. The rest is the other
//       version, or, if both have addresses, the joint lookup, which knows the order; without it
//       IPv6 comes first
//   Q4  The addresses of the joint lookup are the answer. Its error is the answer unless a version
//       has addresses, because the lookups may ask different servers. Otherwise the answer is
//       complete once both versions have ended and there is nothing to sort
//
// While a lookup runs, the program is not deadlocked (external_waker).
//
// Rejected: Only lookups of one version. They ignore the system's order.
// Rejected: A resolver of our own, or c-ares. They ignore nsswitch.conf.
// Rejected: A green thread in blocking() per lookup. stop() would have to wait for it.
//
// Threads: any thread. See: lookup_threads.h, docs/sockets.md
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <weft/net/endpoint.h>

namespace weft::net::detail {

// Addresses with port 0, or the error.
struct lookup_result {
    std::vector<endpoint> addresses;
    std::error_code error;
};

// A cancellation point. Throws weft::cancelled, weft::timed_out, std::bad_alloc; std::system_error
// if no thread can be started.
[[nodiscard]] lookup_result look_up(const std::string& host,
                                    std::optional<endpoint::ip> only,
                                    std::chrono::nanoseconds resolution_delay);

// For tests; nullptr restores the system's resolver. Requires: no lookup is running.
using lookup_function = lookup_result (*)(const std::string& host, std::optional<endpoint::ip> only);
void set_lookup_function(lookup_function f) noexcept;

[[nodiscard]] unsigned callers_for_test();

}  // namespace weft::net::detail
