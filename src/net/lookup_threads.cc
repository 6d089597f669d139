// lookup_threads.cc: see lookup_threads.h.
#include "net/lookup_threads.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>

#include "base/atomic.h"
#include "net/system_lookup.h"
#include "os/os.h"

namespace weft::net::detail {

namespace os = weft::detail::os;

namespace {

constexpr std::chrono::seconds linger(2);  // how long a thread waits for work

constinit weft::detail::atomic<lookup_threads*> the_threads{nullptr};

// The last two labels, in lower case.
std::string domain_name(const std::string& host) {
    std::string name = host;
    if (name.ends_with('.')) name.pop_back();
    const std::size_t last = name.rfind('.');
    if (last != std::string::npos && last != 0) {
        const std::size_t before = name.rfind('.', last - 1);
        if (before != std::string::npos) name.erase(0, before + 1);
    }
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return name;
}

}  // namespace

lookup_threads& lookup_threads::of_this_process() {
    lookup_threads* all = the_threads.load(weft::detail::acquire);  // pairs with the exchange
    if (all != nullptr) return *all;
    auto made = std::make_unique<lookup_threads>();
    // A child inherits the registration.
    static const bool registered = [] {
        os::call_in_child_of_fork([] { the_threads.store(nullptr, weft::detail::relaxed_alone); });
        return true;
    }();
    static_cast<void>(registered);
    using weft::detail::acq_rel;
    using weft::detail::acquire;
    // acq_rel: pairs with the load above, and another exchange's
    if (the_threads.compare_exchange_strong(all, made.get(), acq_rel, acquire)) all = made.release();
    return *all;
}

std::shared_ptr<lookup> lookup_threads::join(const lookup_key& what, lookup_caller& caller) {
    if (const auto at = under_way_.find(what); at != under_way_.end()) {
        at->second->callers.push_back(&caller);
        return at->second;
    }
    const auto l = std::make_shared<lookup>(what);
    l->callers.push_back(&caller);
    const domains::iterator d = domain_of(what.first);
    l->domain = d;
    try {
        under_way_.emplace(what, l);
        d->queue.push_back(l);
        count(d);
        find_a_thread();
    } catch (...) {
        under_way_.erase(what);
        std::erase(d->queue, l);
        count(d);
        throw;
    }
    return l;
}

void lookup_threads::leave(lookup_caller& caller, const std::shared_ptr<lookup>& l, leaving how) noexcept {
    std::erase(l->callers, &caller);
    if (!l->callers.empty() || l->has_ended) return;
    if (l->has_begun && how == leaving::with_answer) return;
    forget(l);
    if (l->has_begun) return;
    std::erase(l->domain->queue, l);
    count(l->domain);
}

void lookup_threads::hurry() noexcept {
    const unsigned most = working_ < shared_max ? shared_max : threads_max;
    if (may_begin() > idle_ && threads_ < most) static_cast<void>(start_thread());
}

void lookup_threads::forget(const std::shared_ptr<lookup>& l) noexcept {
    const auto at = under_way_.find(l->what);
    if (at != under_way_.end() && at->second == l) under_way_.erase(at);
}

unsigned lookup_threads::callers_for_test() const {
    std::vector<const lookup_caller*> all;
    for (const auto& [what, l] : under_way_) all.insert(all.end(), l->callers.begin(), l->callers.end());
    std::sort(all.begin(), all.end());
    return static_cast<unsigned>(std::unique(all.begin(), all.end()) - all.begin());
}

lookup_threads::domains::iterator lookup_threads::domain_of(const std::string& host) {
    const std::string name = domain_name(host);
    if (const auto at = by_name_.find(name); at != by_name_.end()) return at->second;
    lookup_domain fresh;
    fresh.name = name;
    others_.push_front(std::move(fresh));
    try {
        by_name_.emplace(name, others_.begin());
    } catch (...) {
        others_.pop_front();
        throw;
    }
    return others_.begin();
}

// Restores N1 to N3 after a change of d. Erases d if it has no lookups.
void lookup_threads::count(domains::iterator d) noexcept {
    const unsigned threads_left = domain_max - d->threads;
    const unsigned runnable = std::min(static_cast<unsigned>(d->queue.size()), threads_left);
    runnable_ += runnable - d->runnable;
    d->runnable = runnable;
    const unsigned first = runnable != 0 && d->threads == 0 ? 1 : 0;
    first_ += first - d->first;
    d->first = first;
    if ((runnable != 0) != d->has_turn) {
        d->has_turn = !d->has_turn;
        if (d->has_turn) {
            turns_.splice(turns_.end(), others_, d);
        } else {
            others_.splice(others_.begin(), turns_, d);
        }
    }
    if (d->threads != 0 || !d->queue.empty()) return;
    by_name_.erase(d->name);
    others_.erase(d);
}

// L2.
void lookup_threads::find_a_thread() {
    if (may_begin() <= idle_) {
        more_.notify_one();
        return;
    }
    if (threads_ >= at_once_max) return;
    if (const int error = start_thread(); error != 0 && threads_ == 0)
        throw std::system_error(
            error, std::generic_category(),
            "weft: cannot start a thread that looks up names (end some threads, or raise the limit: ulimit -u)");
}

// L4.
lookup_threads::domains::iterator lookup_threads::next_domain() noexcept {
    if (working_ < shared_max) return turns_.begin();
    return std::ranges::find_if(turns_, [](const lookup_domain& d) { return d.threads == 0; });
}

int lookup_threads::start_thread() noexcept {
    os::thread_id thread = 0;
    const int error = os::start_thread(thread, &run_thread, this);
    if (error == 0) ++threads_;
    return error;
}

void* lookup_threads::run_thread(void* argument) noexcept {
    os::detach_this_thread();
    os::name_thread("weft-resolve");
    static_cast<lookup_threads*>(argument)->serve();
    return nullptr;
}

void lookup_threads::serve() noexcept {
    std::unique_lock held(lock);
    for (;;) {
        for (domains::iterator d = next_domain(); d != turns_.end(); d = next_domain()) {
            turns_.splice(turns_.end(), turns_, d);
            const std::shared_ptr<lookup> next = std::move(d->queue.front());
            d->queue.pop_front();
            ++d->threads;
            ++working_;
            count(d);
            next->has_begun = true;
            held.unlock();
            lookup_result result = perform_lookup(next->what.first, next->what.second);
            held.lock();
            next->result = std::move(result);
            next->has_ended = true;
            forget(next);
            for (lookup_caller* c : next->callers) c->news.set();  // L5
            --d->threads;
            --working_;
            count(d);
        }
        if (threads_ > at_once_max) break;
        ++idle_;
        const bool is_asked = more_.wait_for(held, linger, [&] { return may_begin() != 0; });
        --idle_;
        if (!is_asked) break;
    }
    --threads_;  // L7
}

}  // namespace weft::net::detail
