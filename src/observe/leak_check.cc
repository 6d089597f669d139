// leak_check.cc: the green threads that a test, or another piece of work, has left behind.
//
// Which exist is noted by their ids, which a runtime never gives twice. Those that end by
// themselves a little later are waited for: a joiner returns before the green thread that it has
// joined is dead.
//
// Threads: any.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include <weft/blocking.h>
#include <weft/go.h>
#include <weft/observe/leaks.h>

#include "debug/all_gs.h"
#include "observe/leak_report.h"
#include "observe/profile_maker.h"
#include "observe/subject.h"
#include "os/os.h"
#include "sched/recording.h"
#include "sched/scheduler.h"

namespace weft::observe {

namespace {

using weft::detail::G;
using weft::detail::g_snapshot;
using weft::detail::g_state;
using weft::detail::scheduler;
using ids = std::unordered_set<uint64_t>;

constexpr int64_t pause_ns = 2'000'000;

ids live_ids(scheduler& s) {
    ids all;
    s.gs.for_each([&](const G& g) {
        if (g.state.load(weft::detail::acquire) == g_state::dead) return;  // pairs with set_state
        weft::detail::identity who{};
        if (who.read(g)) all.insert(who.id);
    });
    return all;
}

}  // namespace

struct leak_check::state {
    explicit state(detail::subject which) : of(std::move(which)) {
        if (const detail::pinned_subject s = of.use()) before = live_ids(*s);
    }

    const detail::subject of;
    ids before;
};

leak_check::leak_check() : state_(std::make_unique<state>(detail::subject())) {}

leak_check::leak_check(const runtime& of)
    : state_(std::make_unique<state>(detail::subject(of, "weft: leaks were checked in"))) {}

leak_check::~leak_check() = default;

leak_report leak_check::left(std::chrono::nanoseconds patience) const {
    // Inside blocking() there is no current green thread. No green thread has the id 0.
    uint64_t own_id = this_g::id();
    if (own_id != 0 && weft::detail::recording_of_caller() != state_->of.source()) own_id = 0;
    return blocking([&] {
        leak_report_maker::content c;
        c.what = "left behind";
        c.taken_unix_ns = detail::unix_ns();
        const detail::pinned_subject s = state_->of.use();
        if (!s) return leak_report_maker::make(std::move(c));
        ids left;
        const int64_t until_ns = weft::detail::os::monotonic_ns() + patience.count();
        for (;;) {
            left = live_ids(*s);
            std::erase_if(left, [&](uint64_t id) { return id == own_id || state_->before.count(id) != 0; });
            if (left.empty() || weft::detail::os::monotonic_ns() >= until_ns) break;
            weft::detail::os::sleep_ns(pause_ns);
        }
        if (left.empty()) return leak_report_maker::make(std::move(c));

        struct closure {
            const ids& left;
            const int64_t now_ns;
            detail::leak_groups groups;

            static void add(void* self, const g_snapshot& g, const label_set& labels) {
                auto& each = *static_cast<closure*>(self);
                if (each.left.count(g.who.id) != 0) each.groups.add(g, labels, each.now_ns);
            }
        } each{left, weft::detail::os::monotonic_ns(), {}};

        weft::detail::for_each_g(*s, &closure::add, &each);
        each.groups.move_to(c);
        return leak_report_maker::make(std::move(c));
    });
}

}  // namespace weft::observe
