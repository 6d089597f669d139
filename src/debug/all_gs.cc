// all_gs.cc: see all_gs.h.
#include "debug/all_gs.h"

#include "debug/batch_reader.h"
#include "os/signals.h"
#include "sched/scheduler.h"
#include "sched/switch.h"

namespace weft::detail {

void for_each_g(scheduler& s, each_g each, void* closure) {
    os::enable_questions();  // for the stacks of those that run
    batch_reader reader(s, [&](const g_snapshot& g, const label_set& labels) { each(closure, g, labels); }, true);
    s.gs.for_each([&](G& g) {
        if (g.state.load(relaxed_hint) != g_state::dead) reader.add(g);
    });
    reader.read();
}

bool for_each_g_of_caller(each_g each, void* closure) {
    if (const M* m = current_g_m()) {
        for_each_g(*m->home, each, closure);  // it lives as long as the caller
        return true;
    }
    scheduler* s = pin_default_scheduler_if_any();
    if (s == nullptr) return false;

    struct unpinned {
        scheduler* s;

        ~unpinned() { s->unpin(); }
    } const at_the_end{s};

    for_each_g(*s, each, closure);
    return true;
}

}  // namespace weft::detail
