// lookup.h: looks up the addresses of a name for a caller that waits.
//
// Problem. A name has addresses of two versions, and the servers of some names answer only the
// query for one. getaddrinfo sends both queries and waits for both answers. A name whose AAAA query
// is never answered takes it 9 s. RFC 8305 (3) sends both at once, and allows the second answer 50
// ms (resolution delay) after the first.
//
//   Q1  Look up both versions. Its answer is the best: the system has sorted all addresses together
//       (RFC 6724, /etc/gai.conf)
//   Q2  If that has not ended after the resolution delay, look up each version by itself, too
//   Q3  Once one version has addresses, wait for the rest as long again, then stop. The wait for
//       IPv4 is longer (ipv4_grace), because many machines have nothing else. If both versions have
//       addresses, the rest is the joint lookup, which knows the order; without it IPv6 comes first
//   Q4  If the joint lookup has addresses, they are the answer. If it has failed, its error is the
//       answer, unless a version has addresses: the lookups may ask different servers, or one at
//       different times. The answer is also complete once both versions have ended and there is
//       nothing to sort
//
// lookup_threads.h has the threads that do this. While a lookup runs, the program is not deadlocked
// (external_waker).
//
// Rejected: Only lookups of one version. The caller would have to sort the addresses without the
//           system's configuration, and each name would take two lookups.
// Rejected: A resolver of our own, or c-ares. They ignore nsswitch.conf.
// Rejected: A green thread in blocking() per lookup. stop() would have to wait for it, and a
//           cancelled caller could not continue.
//
// Threads: any thread. See: docs/sockets.md
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <weft/net/endpoint.h>

namespace weft::net::detail {

// The result: addresses with port 0, or the error.
struct lookup_result {
    std::vector<endpoint> addresses;
    std::error_code error;
};

// Looks up host, or waits for a running lookup of it. A cancellation point. Throws weft::cancelled,
// weft::timed_out, std::bad_alloc; std::system_error if no thread can be started.
[[nodiscard]] lookup_result look_up(const std::string& host,
                                    std::optional<endpoint::ip> only,
                                    std::chrono::nanoseconds resolution_delay);

// Replaces the system's resolver, for tests; nullptr restores it. Requires: no lookup is running.
using lookup_function = lookup_result (*)(const std::string& host, std::optional<endpoint::ip> only);
void set_lookup_function(lookup_function f) noexcept;

// The number of callers in this process that wait for lookups that have not ended.
[[nodiscard]] unsigned callers_for_test();

}  // namespace weft::net::detail
