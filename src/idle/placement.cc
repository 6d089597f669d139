// placement.cc: see placement.h.
#include "idle/placement.h"

#include "handoff/injected.h"
#include "sched/scheduler.h"

namespace weft::detail {

namespace {

uint32_t count_hogs(scheduler& s) noexcept {
    const idle_guard held(s.idle);
    return s.idle.absent.hogs;
}

// …_locked requires threads_lock: no M that holds a P or is on the list is freed, and no cpu_word
// disappears.

// no_cpu: unknown, no M holds p, or its holder is in a blocking call and needs no CPU.
uint32_t cpu_of_holder_locked(const P& p) noexcept {
    const M* m = holder_of(p.owner.load(acquire));  // pairs with acquire_p
    if (m == nullptr || m->in_call.load(relaxed_hint)) return os::no_cpu;
    return os::cpu_of(m->cpu_word);
}

void add_hogs_locked(const scheduler& s, uint32_t hogs, cpu_census& census) noexcept {
    s.threads_lock.assume_held();
    for (const M* m = s.all_ms; m != nullptr && hogs != 0; m = m->all_next) {
        if (!m->is_hog.load(relaxed_hint)) continue;
        census.add_hog(os::cpu_of(m->cpu_word));
        --hogs;
    }
}

// Whether there is a CPU for each counted thread.
bool have_room(const cpu_census& census) noexcept {
    os::cpu_mask mask;
    return os::read_cpu_mask(0, mask) && census.size() <= mask.count();
}

}  // namespace

void cpu_census::add_holder(uint32_t cpu) noexcept {
    if (cpu >= os::cpus_max) return;
    ++size_;
    if (++holders_[cpu] == 2) ++sharers_;
}

void cpu_census::add_hog(uint32_t cpu) noexcept {
    if (cpu >= os::cpus_max) return;
    ++size_;
    ++hogs_[cpu];
}

uint32_t cpu_census::better_than(uint32_t cpu) const noexcept {
    uint32_t best = os::no_cpu;
    uint32_t fewest = uint32_t{holders_[cpu]} + hogs_[cpu];
    for (uint32_t other = 0; other < os::cpus_max; ++other) {
        if (holders_[other] != 0 || hogs_[other] == 0 || hogs_[other] >= fewest) continue;
        best = other;
        fewest = hogs_[other];
    }
    return best;
}

// L1 and L2, for at most one holder.
void placement::tell_one_locked(scheduler& s, uint32_t hogs) noexcept {
    WEFT_DCHECK(s.threads_lock.is_locked());
    cpu_census census;
    const uint32_t n = s.ps.reach();
    for (uint32_t i = 0; i < n; ++i) census.add_holder(cpu_of_holder_locked(s.ps[i]));
    if (!census.any_shares()) return;
    add_hogs_locked(s, hogs, census);
    if (have_room(census)) return;
    ++first_;
    for (uint32_t i = 0; i < n; ++i) {
        P& p = s.ps[(first_ + i) % n];
        const uint32_t from = cpu_of_holder_locked(p);
        const uint32_t to = census.shares(from) ? census.better_than(from) : os::no_cpu;
        M* m = holder_of(p.owner.load(acquire));  // as above
        if (m == nullptr || to == os::no_cpu) continue;
        m->move_to.store(to, relaxed);  // relaxed: it matters when, not whether
        request_reschedule(p);          // no effect if p has lost its holder since
        return;
    }
}

void placement::look(scheduler& s, int64_t now_ns) noexcept {
    if (now_ns - looked_ns_ < place_ns) return;
    const uint32_t hogs = count_hogs(s);
    if (hogs == 0) return;
    looked_ns_ = now_ns;
    s.threads_lock.lock();
    tell_one_locked(s, hogs);
    s.threads_lock.unlock();
}

void set_hog_locked(idle_state& idle, M* m, bool is_one) noexcept {
    WEFT_DCHECK(idle.is_locked());
    if (m->is_hog.load(relaxed_locked) == is_one) return;
    m->is_hog.store(is_one, relaxed_locked);
    WEFT_ASSERT(is_one || idle.absent.hogs != 0);
    idle.absent.hogs += is_one ? 1U : ~0U;
}

void move_now(M* m) noexcept {
    const uint32_t cpu = m->move_to.exchange(os::no_cpu, relaxed);  // relaxed: it matters when, not whether
    if (os::move_this_thread(cpu)) m->home->sysmon.spread.count();
}

}  // namespace weft::detail
