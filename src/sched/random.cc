// random.cc: see random.h.
#include "sched/random.h"

#include "sched/simulation.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

constexpr uint64_t usual_seed = 20'090'713;

constinit atomic<uint64_t> seed_now{usual_seed};
constinit atomic<uint64_t> plain_threads{0};

// A plain thread does not migrate, so a thread-local is safe.
[[gnu::noinline]] prng& thread_random() noexcept {
    // relaxed: must only differ each time
    thread_local prng mine(random_seed() + procs_max + plain_threads.fetch_add(1, relaxed));
    return mine;
}

}  // namespace

constinit atomic<bool> shuffles_wakes{false};

uint64_t random_seed() noexcept { return seed_now.load(relaxed); }  // relaxed: set before a runtime starts

void shuffle_everything(uint64_t seed) noexcept {
    seed_now.store(seed, relaxed);        // relaxed: as above
    shuffles_wakes.store(true, relaxed);  // relaxed: as above
}

namespace {

[[gnu::noinline, gnu::cold]] uint32_t below_in_simulation(M* m, uint32_t n) noexcept {
    simulation* sim = controlling();
    if (sim == nullptr) return (m != nullptr ? m->random : thread_random()).below(n);
    return n == 1 ? 0 : sim->choose(n);
}

}  // namespace

uint32_t random_below(M* m, uint32_t n) noexcept {
    if (simulates()) [[unlikely]]
        return below_in_simulation(m, n);
    return (m != nullptr ? m->random : thread_random()).below(n);
}

uint32_t random_below(uint32_t n) noexcept { return random_below(current_g_m(), n); }

waiter* shuffled(waiter* first) noexcept {
    M* m = current_g_m();
    waiter* other = nullptr;
    waiter* last = nullptr;
    while (first != nullptr) {
        waiter* w = first;
        first = w->next;
        const bool in_front = other == nullptr || random_below(m, 2) == 0;
        if (in_front) {
            w->next = other;
            other = w;
            if (last == nullptr) last = w;
        } else {
            w->next = nullptr;
            last->next = w;
            last = w;
        }
    }
    return other;
}

}  // namespace weft::detail
