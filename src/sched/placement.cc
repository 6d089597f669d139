// placement.cc: see placement.h.
#include "sched/placement.h"

#include <cstddef>
#include <vector>

#include "sched/arrivals.h"
#include "sched/scheduler.h"

namespace weft::detail {

namespace {

M* holder_of(const P& p) noexcept {
    return reinterpret_cast<M*>(p.owner.load(acquire) & ~attention::mask);  // pairs with acquire_p
}

// …_locked: threads_lock is held, so that no M that holds a P or is on the list is freed, and no cpu_word goes with its thread.

// Whether any G runs without a P.
bool has_outsiders(scheduler& s) noexcept {
    s.idle.lock.lock();
    const bool any = s.idle.off_p != 0;
    s.idle.lock.unlock();
    return any;
}

// A CPU on which there is a hog and no holder.
uint32_t find_hog_alone_locked(const scheduler& s, const cpu_census& census) noexcept {
    for (const M* m = s.all_ms; m != nullptr; m = m->all_next) {
        if (!m->is_hog.load(relaxed)) continue;  // relaxed: a look
        const uint32_t cpu = os::cpu_of(m->cpu_word);
        if (!census.has_holder(cpu)) return cpu;
    }
    return os::no_cpu;
}

// L1 and L2, if anybody is to move.
void tell_one_locked(scheduler& s) noexcept {
    cpu_census census;
    for (uint32_t i = 0; i < s.ps.reach(); ++i)
        if (const M* m = holder_of(s.ps[i])) census.add_holder(os::cpu_of(m->cpu_word));
    if (!census.any_shares()) return;
    const uint32_t to = find_hog_alone_locked(s, census);
    if (to == os::no_cpu) return;
    for (uint32_t i = 0; i < s.ps.reach(); ++i) {
        M* m = holder_of(s.ps[i]);
        if (m == nullptr || !census.shares(os::cpu_of(m->cpu_word))) continue;
        m->move_to.store(to, relaxed);  // relaxed: it matters when, not whether
        ask_to_look(s.ps[i]);
        return;
    }
}

// Of all Ms that there are now.
std::vector<int> tids_of(scheduler& s) {
    std::vector<int> tids(s.thread_count.load(relaxed));  // relaxed: those that are made meanwhile come the next time
    std::size_t found = 0;
    s.threads_lock.lock();
    for (const M* m = s.all_ms; m != nullptr && found < tids.size(); m = m->all_next)
        if (m->tid() != 0) tids[found++] = m->tid();
    s.threads_lock.unlock();
    tids.resize(found);
    return tids;
}

}  // namespace

void cpu_census::add_holder(uint32_t cpu) noexcept {
    if (cpu >= os::cpus_max) return;
    ++holders_[cpu];
    shared_ = shared_ || holders_[cpu] > 1;
}

void placement::look(scheduler& s, int64_t now_ns) noexcept {
    if (now_ns - looked_ns_ < place_ns || !has_outsiders(s)) return;
    looked_ns_ = now_ns;
    knows_usual_ = knows_usual_ || os::read_cpu_mask(0, usual_);
    if (!knows_usual_) return;
    s.threads_lock.lock();
    tell_one_locked(s);
    s.threads_lock.unlock();
}

void move_now(M* m) noexcept {
    const uint32_t cpu = m->move_to.exchange(os::no_cpu, relaxed);  // relaxed: as above
    if (os::move_this_thread(cpu)) m->home->sysmon.places.count();
}

void placement::follow_mask(scheduler& s) {
    os::cpu_mask now;
    if (!knows_usual_ || !os::read_cpu_mask(0, now) || now == usual_) return;
    for (int tid : tids_of(s)) {
        os::cpu_mask mask;
        if (!os::read_cpu_mask(tid, mask) || mask != usual_) continue;
        static_cast<void>(os::write_cpu_mask(tid, now));  // refused: it stays where it is
    }
    usual_ = now;
}

}  // namespace weft::detail
