// lookup_threads.h: threads that look names up, and the lookups that wait for one.
//
// The problem. getaddrinfo blocks for as long as a name server takes, and cannot be interrupted. A lookup whose caller has left goes on until the
// name server has answered or the system gives up, 5 to 30 s by a usual resolv.conf. Such lookups must not keep others waiting, and neither must
// the lookups of some domains whose servers are silent.
//
//   L1  join: a caller finds the lookup of that name under way, or queues a new one
//   L2  a lookup that is queued goes to a thread that is idle; else to a new one, up to at_once_max of them
//   L3  hurry: a caller whose lookup has not been begun after a while asks for one more thread, up to threads_max: so what is queued waits for
//       threads that work, and not for those that wait for a server
//   L4  a thread that is free takes a lookup from the domain whose turn it is; domains have turns one after the other, and one domain has
//       domain_max threads at most. While shared_max lookups or more are performed, only a domain that has no thread gets one
//   L5  the lookup has ended: its callers are told
//   L6  leave: the last caller takes a lookup that no thread has begun out of the queue. One that a thread has begun goes on, and keeps the
//       thread, but no place that another lookup needs: L3 makes up for it. If that caller leaves without an answer, the lookup is forgotten: the
//       next caller begins a new one (L1), because the server may have recovered, and the old one would tell of it only when it asks again
//   L7  a thread that finds nothing to do ends: at once if there are more than at_once_max, else after linger
//
// Why not all threads at once: each thread that looks a name up reads the resolver's configuration and keeps its state; where names are answered
// soon, eight threads do what is needed.
//
// A caller with an answer leaves lookups that a version has overtaken (lookup.h). They are not forgotten: a name one of whose versions is never answered
// would take two more threads each time it is asked for.
//
// A domain is the last two labels of a name, which is a guess at what one server answers for. It decides about the order only.
//
// How many silent domains hold up no other: threads_max - shared_max - 1. Beyond shared_max each lookup that begins is the only one of its domain, so k
// silent domains have shared_max + k threads at most, and a domain that is answered gets one of the others.
//
// Rejected. A thread for each lookup (Go: up to 500): a burst of names would start as many threads, though a few could do it. To cancel a lookup
// (gai_cancel): it works for those that have not begun only.
//
// Rejected, too: fewer threads for each domain. A domain that is slow, and answered, needs them, and the number of silent domains that fill all threads
// is still small. A domain may have as many threads as are free: of domains that fall silent one after the other each takes half of what is left.
//
// Invariants: N1. runnable_ is the number of lookups that may begin while less than shared_max are performed: of each domain as many as are
//                 queued, and as it has threads left.
//             N2. A domain is in turns_ exactly if it has such a lookup.
//             N3. first_ is the number of those domains that have no thread.
// Locks:      lock, a weft::mutex, because its holders allocate.
// Who:        any thread.
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

// What is looked up: a host, and an address family.
using lookup_key = std::pair<std::string, int>;

// A caller that waits for news of one or more lookups.
struct lookup_caller {
    event news;  // set whenever one of them has ended
};

struct lookup;

// Lookups of names of one domain. Guarded by the lock of lookup_threads.
struct lookup_domain {
    std::string name;
    std::deque<std::shared_ptr<lookup>> queue;  // not begun
    unsigned threads = 0;                       // that have begun one, which has not ended
    unsigned runnable = 0;                      // its part of runnable_
    unsigned first = 0;                         // its part of first_
    bool has_turn = false;                      // it is in turns_
};

struct lookup {
    explicit lookup(lookup_key k) : what(std::move(k)) {}

    const lookup_key what;
    // Guarded by the lock of lookup_threads; result is written before has_ended is set, by the thread that performs it.
    std::vector<lookup_caller*> callers;
    std::list<lookup_domain>::iterator domain;  // until it has ended
    bool has_begun = false;
    bool has_ended = false;
    lookup_result result;
};

// All threads and lookups of a process. Never destroyed: threads may use it when the process ends.
class lookup_threads {
public:
    static constexpr unsigned at_once_max = 8;
    static constexpr unsigned threads_max = 128;
    static constexpr unsigned shared_max = 96;
    static constexpr unsigned domain_max = threads_max / 2;
    static_assert(domain_max < shared_max && shared_max < threads_max);

    // Those of this process: the child of a fork begins with none.
    [[nodiscard]] static lookup_threads& of_this_process();

    // Guards what is said to be guarded.
    mutex lock;

    // All of the following with the lock held.

    // L1 and L2: of a lookup, the caller is one from now on. Throws std::bad_alloc; std::system_error if no thread can be started.
    [[nodiscard]] std::shared_ptr<lookup> join(const lookup_key& what, lookup_caller& caller);

    // L6: it is none any more.
    enum class leaving : uint8_t { with_answer, without };
    void leave(lookup_caller& caller, const std::shared_ptr<lookup>& l, leaving how) noexcept;

    // L3. By a caller of a lookup that has not begun.
    void hurry() noexcept;

    // How many different callers there are, of lookups that have not ended.
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

    // How many lookups a thread may begin now; not 0 exactly if there is a next_domain().
    [[nodiscard]] unsigned may_begin() const noexcept { return working_ < shared_max ? runnable_ : first_; }

    condition_variable more_;
    std::map<lookup_key, std::shared_ptr<lookup>> under_way_;  // not ended, nor forgotten
    std::map<std::string, domains::iterator> by_name_;
    domains turns_;
    domains others_;
    unsigned runnable_ = 0;
    unsigned first_ = 0;
    unsigned working_ = 0;  // lookups that are performed
    unsigned threads_ = 0;
    unsigned idle_ = 0;
};

}  // namespace weft::net::detail
