// lookup_threads.h: threads that look up names, and the queue of lookups.
//
// Problem. getaddrinfo blocks for as long as a name server takes, and cannot be interrupted. A
// lookup whose caller has left continues until the server answers or the system gives up: 5 to 30 s
// with a usual resolv.conf. Neither such lookups nor domains with silent servers may delay others.
//
//   L1  join: a caller finds the running lookup of that name, or queues a new one
//   L2  a queued lookup goes to an idle thread, else to a new one, up to at_once_max of them
//   L3  hurry: a caller whose lookup has not begun after a while asks for one more thread, up to
//       threads_max. So queued lookups do not wait for threads that wait for a server
//   L4  a free thread takes a lookup from the next domain, round robin. One domain has at most
//       domain_max threads. While shared_max or more lookups run, only a domain without a thread
//       gets one
//   L5  a lookup that ends notifies its callers
//   L6  leave: the last caller removes a lookup that has not begun from the queue. One that has
//       begun continues and keeps its thread; L3 makes up for that thread. If that caller leaves
//       without an answer, the lookup is forgotten, and the next caller begins a new one (L1). The
//       server may have recovered, and the old lookup would notice only when it asks again
//   L7  a thread without work ends: at once if there are more than at_once_max, else after linger
//
// The threads do not all start at once, because each reads the resolver's configuration and keeps
// its state. If names are answered quickly, eight threads suffice.
//
// A caller with an answer also leaves lookups that a version's lookup has overtaken (lookup.h).
// These are not forgotten: otherwise a name with a version that is never answered would take two
// more threads on each request.
//
// A domain is the last two labels of a name: a guess at what one server answers for. It affects
// only the order.
//
// Up to threads_max - shared_max - 1 silent domains delay no other. Beyond shared_max each new
// lookup is the only one of its domain. So k silent domains have at most shared_max + k threads,
// and a domain that is answered gets one of the others.
//
// Rejected: A thread per lookup (Go: up to 500). A burst of names would start as many threads,
//           though a few suffice.
// Rejected: Cancelling a lookup (gai_cancel). It works only for lookups that have not begun.
// Rejected: Fewer threads per domain. A slow domain that is answered needs them, and the number of
//           silent domains that fill all threads stays small.
// Rejected: As many threads per domain as are free. Of domains that fall silent one after the
//           other, each takes half of the rest.
//
// Invariants: N1. runnable_ is the number of lookups that may begin while fewer than shared_max
//                 run: for each domain its queued lookups, limited by the threads it has left.
//             N2. A domain is in turns_ exactly if it has such a lookup.
//             N3. first_ is the number of those domains that have no thread.
// Locks:      lock, a weft::mutex, because its holders allocate.
// Threads:    any thread.
// See:        docs/sockets.md
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <weft/condition_variable.h>
#include <weft/event.h>
#include <weft/mutex.h>

#include "net/lookup.h"

namespace weft::net::detail {

// What is looked up: a host and an address family.
using lookup_key = std::pair<std::string, int>;

// A caller that waits for one or more lookups.
struct lookup_caller {
    event news;  // set whenever one of them has ended
};

struct lookup;

// The lookups of names in one domain. Guarded by the lock of lookup_threads.
struct lookup_domain {
    std::string name;
    std::deque<std::shared_ptr<lookup>> queue;  // not begun
    unsigned threads = 0;                       // that run a lookup of this domain
    unsigned runnable = 0;                      // its part of runnable_
    unsigned first = 0;                         // its part of first_
    bool has_turn = false;                      // it is in turns_
};

struct lookup {
    explicit lookup(lookup_key k) : what(std::move(k)) {}

    const lookup_key what;
    // Guarded by the lock of lookup_threads. The thread that performs the lookup writes result
    // before it sets has_ended.
    std::vector<lookup_caller*> callers;
    std::list<lookup_domain>::iterator domain;  // until it has ended
    bool has_begun = false;
    bool has_ended = false;
    lookup_result result;
};

// All lookup threads and lookups of a process. Never destroyed: threads may use it while the
// process exits.
class lookup_threads {
public:
    static constexpr unsigned at_once_max = 8;
    static constexpr unsigned threads_max = 128;
    static constexpr unsigned shared_max = 96;
    static constexpr unsigned domain_max = threads_max / 2;
    static_assert(domain_max < shared_max && shared_max < threads_max);

    // The instance of this process: the child of a fork starts with an empty one.
    [[nodiscard]] static lookup_threads& of_this_process();

    // Guards what is documented as guarded.
    mutex lock;

    // The functions below require the lock.

    // L1 and L2: adds the caller to a lookup. Throws std::bad_alloc; std::system_error if no thread
    // can be started.
    [[nodiscard]] std::shared_ptr<lookup> join(const lookup_key& what, lookup_caller& caller);

    // L6: removes the caller.
    enum class leaving : uint8_t { with_answer, without };
    void leave(lookup_caller& caller, const std::shared_ptr<lookup>& l, leaving how) noexcept;

    // L3. Called by a caller whose lookup has not begun.
    void hurry() noexcept;

    // The number of distinct callers of lookups that have not ended.
    [[nodiscard]] unsigned callers_for_test() const;

private:
    using domains = std::list<lookup_domain>;

    static void* run_thread(void* argument) noexcept;
    void serve() noexcept;
    [[nodiscard]] int start_thread() noexcept;
    void find_a_thread();
    [[nodiscard]] domains::iterator domain_of(const std::string& host);
    void count(domains::iterator d) noexcept;
    void forget(const std::shared_ptr<lookup>& l) noexcept;
    [[nodiscard]] domains::iterator next_domain() noexcept;

    // How many lookups a thread may begin now; nonzero exactly if there is a next_domain().
    [[nodiscard]] unsigned may_begin() const noexcept { return working_ < shared_max ? runnable_ : first_; }

    condition_variable more_;
    std::map<lookup_key, std::shared_ptr<lookup>> under_way_;  // neither ended nor forgotten
    std::map<std::string, domains::iterator> by_name_;
    domains turns_;
    domains others_;
    unsigned runnable_ = 0;
    unsigned first_ = 0;
    unsigned working_ = 0;  // running lookups
    unsigned threads_ = 0;
    unsigned idle_ = 0;
};

}  // namespace weft::net::detail
