// lookup.cc: see lookup.h.
#include "net/lookup.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <weft/condition_variable.h>
#include <weft/debug.h>
#include <weft/event.h>
#include <weft/mutex.h>
#include <weft/net/resolve.h>

#include "base/atomic.h"
#include "net/socket_address.h"
#include "os/os.h"

namespace weft::net::detail {

namespace os = weft::detail::os;

namespace {

constexpr unsigned threads_max = 8;
constexpr std::chrono::seconds linger(2);  // how long a thread waits for something to do

using key = std::pair<std::string, int>;  // the host, and a family

struct lookup {
    explicit lookup(key k) : what(std::move(k)) {}

    const key what;
    event done;
    lookup_result result;  // once done
    unsigned waiting = 0;  // guarded by the resolver's mutex
    bool begun = false;    // as above
};

// All threads and lookups of a process. Never destroyed: threads may be looking at it when the process ends.
struct resolver {
    mutex lock;
    condition_variable more;
    std::deque<std::shared_ptr<lookup>> queue;         // not begun
    std::map<key, std::shared_ptr<lookup>> under_way;  // not ended
    unsigned threads = 0;
    unsigned idle = 0;
};

constinit weft::detail::atomic<resolver*> the_resolver{nullptr};
constinit weft::detail::atomic<lookup_function> in_place_of_the_system{nullptr};

int family_of(std::optional<endpoint::ip> only) noexcept {
    if (!only) return AF_UNSPEC;
    return *only == endpoint::ip::v4 ? AF_INET : AF_INET6;
}

resolver& resolver_of_this_process() {
    resolver* r = the_resolver.load(weft::detail::acquire);  // pairs with the exchange
    if (r != nullptr) return *r;
    auto made = std::make_unique<resolver>();
    // The handler is registered once: by who is first, in whichever process.
    static const bool registered = [] {
        os::call_in_child_of_fork([] {
            the_resolver.store(nullptr, weft::detail::relaxed);  // relaxed: there is no other thread
        });
        return true;
    }();
    static_cast<void>(registered);
    using weft::detail::acq_rel;
    using weft::detail::acquire;
    // acq_rel: pairs with the load, and this one's
    if (the_resolver.compare_exchange_strong(r, made.get(), acq_rel, acquire)) r = made.release();
    return *r;
}

std::error_code error_of(int code, int system_error) noexcept {
    switch (code) {
        case EAI_NONAME:
            return resolve_errc::not_found;
        case EAI_NODATA:
        case EAI_ADDRFAMILY:
            return resolve_errc::no_address;
        case EAI_AGAIN:
            return resolve_errc::try_again;
        case EAI_SYSTEM:
            return {system_error, std::generic_category()};
        case EAI_MEMORY:
            return {ENOMEM, std::generic_category()};
        default:
            return resolve_errc::failed;
    }
}

lookup_result ask_the_system(const key& what) {
    addrinfo hints{};
    hints.ai_family = what.second;
    hints.ai_socktype = SOCK_STREAM;  // or each address comes once for each type
    addrinfo* found = nullptr;
    const int code = ::getaddrinfo(what.first.c_str(), nullptr, &hints, &found);
    if (code != 0) return {{}, error_of(code, errno)};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
    lookup_result all;
    for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
        socket_address address;
        if (a->ai_addrlen > sizeof(address.storage)) continue;
        std::memcpy(&address.storage, a->ai_addr, a->ai_addrlen);
        address.size = a->ai_addrlen;
        if (const std::optional<endpoint> e = address.to_endpoint()) all.addresses.push_back(*e);
    }
    if (all.addresses.empty()) all.error = resolve_errc::no_address;
    return all;
}

lookup_result perform(const key& what) noexcept {
    try {
        const lookup_function instead =
            in_place_of_the_system.load(weft::detail::acquire);  // pairs with set_lookup_function
        if (instead == nullptr) return ask_the_system(what);
        if (what.second == AF_UNSPEC) return instead(what.first, std::nullopt);
        return instead(what.first, what.second == AF_INET ? endpoint::ip::v4 : endpoint::ip::v6);
    } catch (...) {
        return {{}, std::make_error_code(std::errc::not_enough_memory)};
    }
}

void* look_names_up(void* argument) noexcept {
    auto& r = *static_cast<resolver*>(argument);
    os::detach_this_thread();
    os::name_thread("weft-resolve");
    std::unique_lock lock(r.lock);
    for (;;) {
        while (!r.queue.empty()) {
            const std::shared_ptr<lookup> next = std::move(r.queue.front());
            r.queue.pop_front();
            next->begun = true;
            lock.unlock();
            next->result = perform(next->what);
            lock.lock();
            r.under_way.erase(next->what);
            next->done.set();
        }
        ++r.idle;
        const bool asked = r.more.wait_for(lock, linger, [&] { return !r.queue.empty(); });
        --r.idle;
        if (asked) continue;
        --r.threads;
        return nullptr;
    }
}

// With the lock held: sees to it that what was queued last is begun, by a thread that is idle, or by one more, or when one is through.
void find_a_thread(resolver& r) {
    if (r.queue.size() <= r.idle) {
        r.more.notify_one();
        return;
    }
    if (r.threads == threads_max) return;
    os::thread_id thread = 0;
    if (const int error = os::start_thread(thread, &look_names_up, &r); error != 0) {
        if (r.threads == 0)
            throw std::system_error(error, std::generic_category(), "weft: a thread for looking up names");
        return;
    }
    ++r.threads;
}

// Takes l out again, to which nobody has come.
void give_up(resolver& r, const std::shared_ptr<lookup>& l) noexcept {
    std::erase(r.queue, l);
    r.under_way.erase(l->what);
}

std::shared_ptr<lookup> join(resolver& r, const key& what) {
    const std::scoped_lock lock(r.lock);
    auto [at, is_new] = r.under_way.try_emplace(what);
    if (!is_new) {
        ++at->second->waiting;
        return at->second;
    }
    try {
        at->second = std::make_shared<lookup>(what);
        r.queue.push_back(at->second);
    } catch (...) {
        r.under_way.erase(what);
        throw;
    }
    const std::shared_ptr<lookup> l = at->second;
    try {
        find_a_thread(r);
    } catch (...) {
        give_up(r, l);
        throw;
    }
    l->waiting = 1;
    return l;
}

void leave(resolver& r, const std::shared_ptr<lookup>& l) {
    const std::scoped_lock lock(r.lock);
    if (--l->waiting == 0 && !l->begun) give_up(r, l);
}

}  // namespace

lookup_result look_up(const std::string& host, std::optional<endpoint::ip> only) {
    resolver& r = resolver_of_this_process();
    const external_waker somebody_works;
    const std::shared_ptr<lookup> l = join(r, {host, family_of(only)});
    try {
        l->done.wait();
    } catch (...) {
        leave(r, l);
        throw;
    }
    lookup_result found = l->result;
    leave(r, l);
    return found;
}

void set_lookup_function(lookup_function f) noexcept {
    in_place_of_the_system.store(f, weft::detail::release);
}  // pairs with perform

unsigned callers_for_test() {
    resolver& r = resolver_of_this_process();
    const std::scoped_lock lock(r.lock);
    unsigned all = 0;
    for (const auto& [what, l] : r.under_way) all += l->waiting;
    return all;
}

}  // namespace weft::net::detail
