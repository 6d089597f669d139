// yield.cc: what a green thread does to itself: yield, checkpoint, this_g.
#include <weft/go.h>

#include "base/assert.h"
#include "sched/schedule.h"
#include "sched/switch.h"

namespace weft {

namespace detail {

namespace {

// Whether anybody else could run instead of the caller.
bool others_wait(const scheduler& s, const P* p) noexcept {
    return p->has_work() || s.global.size() != 0 || p->timers.next_deadline() != never || s.stopping.load(relaxed);  // relaxed: a look
}

}  // namespace

}  // namespace detail

bool yield() {
    using namespace detail;
    M* m = current_g_m();
    if (m == nullptr) fatal("weft::yield() was called by a plain thread; only green threads can yield (std::this_thread::yield?)");
    enter(m);
    P* p = m->p;
    if (!others_wait(*m->home, p)) {
        leave(m);
        return false;
    }
    G* g = m->g;
    const uint32_t tick = p->tick.load(relaxed);  // relaxed: ours
    g->last_p = static_cast<uint16_t>(p->index);
    m->after = {after_switch::kind::requeue, 0, nullptr, nullptr, g};
    m = switch_away(m);
    // Another G ran unless the very next schedule of the same P was ours.
    const bool another = m->p != p || p->tick.load(relaxed) - tick > 1;  // relaxed: ours, or just a look
    leave(m);
    return another;
}

void checkpoint() {
    using namespace detail;
    M* m = current_g_m();
    if (m == nullptr) return;
    // relaxed: a request that is seen a little later is as good
    if (m->p->owner.load(relaxed) != reinterpret_cast<uintptr_t>(m)) [[unlikely]] yield();
}

namespace this_g {

uint64_t id() noexcept {
    const detail::M* m = detail::current_g_m();
    return m == nullptr ? 0 : m->g->id;
}

std::string_view name() noexcept {
    const detail::M* m = detail::current_g_m();
    return m == nullptr ? std::string_view{} : std::string_view{m->g->name};
}

}  // namespace this_g

}  // namespace weft
