// wait_observer.cc: see wait_observer.h.
#include "sched/wait_observer.h"

#include <weft/detail/spin_lock.h>

#include "os/os.h"
#include "sched/g.h"
#include "sched/m.h"

namespace weft::detail {

constinit atomic<wait_observer*> observer_of_waits{nullptr};

namespace {

struct alignas(cache_line) calls_under_way {
    atomic<uint32_t> count{0};
};

constexpr uint32_t stripes = 64;  // so that Ms do not share a cache line

constinit calls_under_way under_way[stripes];

// Keeps the observer from being destroyed.
class observer_use {
public:
    explicit observer_use(uint32_t stripe) noexcept : mine_(under_way[stripe % stripes].count) {
        mine_.fetch_add(1, seq_cst);
        who_ = observer_of_waits.load(seq_cst);
    }

    ~observer_use() { mine_.fetch_sub(1, release); }  // pairs with clear_wait_observer

    observer_use(const observer_use&) = delete;
    observer_use& operator=(const observer_use&) = delete;

    [[nodiscard]] wait_observer* get() const noexcept { return who_; }

private:
    atomic<uint32_t>& mine_;
    wait_observer* who_;
};

uint32_t stripe_of(const M* m) noexcept { return m != nullptr ? m->index : static_cast<uint32_t>(os::current_tid()); }

}  // namespace

bool set_wait_observer(wait_observer& w) noexcept {
    wait_observer* none = nullptr;
    return observer_of_waits.compare_exchange_strong(none, &w, seq_cst, relaxed);  // relaxed: there is another
}

void clear_wait_observer() noexcept {
    observer_of_waits.store(nullptr, seq_cst);
    for (const calls_under_way& c : under_way) {
        for (uint32_t i = 0; c.count.load(seq_cst) != 0; ++i) spin_backoff(i);
    }
}

void tell_wait_begins_slow(const M* m, const G& from) noexcept {
    const auto what = m->after.what;
    if (what != after_switch::kind::park && what != after_switch::kind::park_claimable &&
        what != after_switch::kind::park_claimable_many)
        return;
    const observer_use use(stripe_of(m));
    if (use.get() != nullptr) use.get()->begins(from);
}

void tell_wait_ends_slow(const M* m, const G& g) noexcept {
    if (g.never_ran()) return;
    const observer_use use(stripe_of(m));
    if (use.get() != nullptr) use.get()->ends(m, g);
}

}  // namespace weft::detail
