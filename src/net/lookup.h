// lookup.h: threads that look names up, for green threads that wait for them.
//
// The problem. getaddrinfo blocks, for as long as a name server takes, and cannot be interrupted. In blocking() it would keep a green thread, which
// stop() would have to wait for, and who is cancelled could not go on. And each thread that calls it reads the resolver's configuration and keeps
// its state: a few threads do that a few times.
//
// What is done. A lookup is an object of its own, shared by those who wait for it and the thread that does it. Those who wait do so for an event,
// and may leave; the last one to leave takes a lookup that nobody has begun out of the queue. A thread takes the oldest; with none for linger_ns, it
// ends. While a lookup is under way the program is in no deadlock (external_waker).
//
// Single flight. A lookup that has not ended is found by name: who asks for the same joins it.
//
// Rejected. A resolver of our own, or c-ares: they would not see what nsswitch.conf names. A green thread for each lookup (above).
//
// Fork. The child has none of the threads. It begins with a new set; who waited in the parent is not there.
//
// Locks: the resolver's mutex, a weft::mutex, as its holders allocate.
// Who:   any thread. See: docs/sockets.md
#pragma once

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

// Looks host up, or waits for one who does. A cancellation point. Throws weft::cancelled, weft::timed_out, std::bad_alloc, std::system_error if no thread
// can be started.
[[nodiscard]] lookup_result look_up(const std::string& host, std::optional<endpoint::ip> only);

// In place of the system's resolver, for tests: nullptr is the system's. While nothing is looked up.
using lookup_function = lookup_result (*)(const std::string& host, std::optional<endpoint::ip> only);
void set_lookup_function(lookup_function f) noexcept;

// How many wait for lookups that have not ended, in this process.
[[nodiscard]] unsigned callers_for_test();

}  // namespace weft::net::detail
