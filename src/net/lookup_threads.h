// lookup_threads.h: threads that look up names, and the queue of lookups.
//
// Problem. getaddrinfo blocks until the server answers, or for 5 to 30 s, and cannot be
// interrupted. Abandoned lookups and silent servers must not delay other lookups.
//
//   L1  join: a caller finds the running lookup of that name, or queues a new one
//   L2  a queued lookup goes to an idle thread, else to a new one, up to at_once_max of them,
//       because each keeps the resolver's configuration
//   L3  hurry: a caller whose lookup has not begun after a while asks for one more thread, up to
//       threads_max
//   L4  a free thread serves the domains round robin. One domain has at most domain_max threads.
//       While shared_max or more lookups run, only a domain without a thread gets one
//   L5  a lookup that ends notifies its callers
//   L6  leave: the last caller removes a lookup that has not begun. One that has begun continues;
//       L3 makes up for its thread. If it is left without an answer, the next caller begins a new
//       one, because the server may have recovered
//   L7  a thread without work ends: at once if there are more than at_once_max, else after linger
//
// A caller with an answer also leaves lookups that a version's lookup has overtaken (lookup.h). The
// next caller joins these: otherwise a name with a version that is never answered would take two
// more threads on each request.
//
// A domain is the last two labels of a name: a guess at what one server answers for.
//
// Rejected: A thread per lookup (Go: up to 500). A burst of names would start as many.
// Rejected: gai_cancel. It works only for lookups that have not begun.
// Rejected: Fewer threads per domain. A slow domain that is answered needs them.
// Rejected: All free threads for a domain. Each domain that falls silent takes half of the rest.
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

using lookup_key = std::pair<std::string, int>;

struct lookup_caller {
    event news;  // set whenever one of them has ended
};

struct lookup;

// Guarded by the lock of lookup_threads.
struct lookup_domain {
    std::string name;
    std::deque<std::shared_ptr<lookup>> queue;  // not begun
    unsigned threads = 0;                       // that look up its names
    unsigned runnable = 0;                      // its part of runnable_
    unsigned first = 0;                         // its part of first_
    bool has_turn = false;                      // in turns_
};

struct lookup {
    explicit lookup(lookup_key k) : what(std::move(k)) {}

    const lookup_key what;
    // Guarded by the lock of lookup_threads. result is valid once has_ended.
    std::vector<lookup_caller*> callers;
    std::list<lookup_domain>::iterator domain;  // until it has ended
    bool has_begun = false;
    bool has_ended = false;
    lookup_result result;
};

// Never destroyed, because threads may use it while the process exits.
class lookup_threads {
public:
    static constexpr unsigned at_once_max = 8;
    static constexpr unsigned threads_max = 128;
    static constexpr unsigned shared_max = 96;
    static constexpr unsigned domain_max = threads_max / 2;
    static_assert(domain_max < shared_max && shared_max < threads_max);

    // The child of a fork starts with an empty one.
    [[nodiscard]] static lookup_threads& of_this_process();

    mutex lock;

    // The functions below require the lock.

    // L1 and L2. Throws std::bad_alloc; std::system_error if no thread can be started.
    [[nodiscard]] std::shared_ptr<lookup> join(const lookup_key& what, lookup_caller& caller);

    // L6.
    enum class leaving : uint8_t { with_answer, without };
    void leave(lookup_caller& caller, const std::shared_ptr<lookup>& l, leaving how) noexcept;

    // L3.
    void hurry() noexcept;

    // Counts distinct callers of unfinished lookups.
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

    // Nonzero exactly if there is a next_domain().
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
