// leak_watch.cc: places that start green threads of which more and more wait for long.
//
// At each look, the green threads that have waited longer than the age are counted by the place
// that started them. Nothing is frozen: a green thread that is read while it ends is counted at
// most once, at the wrong place. A place becomes a suspect when its count has grown at each of the
// last looks. A pool of workers that waits for work has a constant number, and is not reported.
//
// Threads: one at a time.
#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <weft/observe/leaks.h>

#include "debug/g_snapshot.h"
#include "observe/subject.h"
#include "os/os.h"
#include "sched/scheduler.h"

namespace weft::observe {

namespace {

using weft::detail::G;
using weft::detail::g_state;
using weft::detail::scheduler;

struct place {
    source_location where;

    friend bool operator<(const place& a, const place& b) {
        const auto key = [](const source_location& l) {
            return std::tuple(std::string_view(l.file_name()), l.line(), l.column(),
                              std::string_view(l.function_name()));
        };
        return key(a.where) < key(b.where);
    }
};

struct old_ones {
    uint64_t count = 0;
    int64_t longest_ns = 0;
    std::string name;
};

struct history {
    uint64_t last = 0;
    uint64_t first = 0;  // before the looks at which it has grown
    unsigned grown = 0;  // looks, one after the other
};

bool may_be_waited_for_long(weft::detail::wait_reason reason) noexcept {
    return reason != weft::detail::wait_reason::sleep;
}

std::map<place, old_ones> count_old(scheduler& s, int64_t age_ns) {
    std::map<place, old_ones> all;
    const int64_t now_ns = weft::detail::os::monotonic_ns();
    s.gs.for_each([&](const G& g) {
        if (g.state.load(weft::detail::acquire) != g_state::waiting) return;  // pairs with set_state
        weft::detail::identity who{};
        const int64_t since_ns = g.since_ns;
        const bool waits = may_be_waited_for_long(g.reason);
        if (!waits || since_ns == 0 || now_ns - since_ns < age_ns || !who.read(g)) return;
        old_ones& here = all[{who.where}];
        if (here.count++ == 0) here.name = who.name;
        if (here.name != who.name) here.name.clear();
        here.longest_ns = std::max(here.longest_ns, now_ns - since_ns);
    });
    return all;
}

}  // namespace

struct leak_watch::state {
    state(detail::subject which, const leak_watch_options& o) : of(std::move(which)), options(o) {
        if (o.age.count() <= 0 || o.count_min == 0 || o.looks == 0) {
            throw std::invalid_argument("weft: the age, count_min and looks of a leak_watch must be greater than zero");
        }
    }

    const detail::subject of;
    const leak_watch_options options;
    std::map<place, history> places;
};

leak_watch::leak_watch(const leak_watch_options& options)
    : state_(std::make_unique<state>(detail::subject(), options)) {}

leak_watch::leak_watch(const runtime& of, const leak_watch_options& options)
    : state_(std::make_unique<state>(detail::subject(of, "weft: leaks were watched in"), options)) {}

leak_watch::~leak_watch() = default;

std::vector<leak_suspect> leak_watch::look() {
    std::vector<leak_suspect> suspects;
    const detail::pinned_subject s = state_->of.use();
    if (!s) return suspects;
    const std::map<place, old_ones> seen = count_old(*s, state_->options.age.count());
    std::erase_if(state_->places, [&](const auto& known) { return seen.count(known.first) == 0; });
    for (const auto& [where, now] : seen) {
        const auto [found, is_new] = state_->places.try_emplace(where);
        history& h = found->second;
        if (is_new || now.count <= h.last) {
            h.first = now.count;
            h.grown = 0;
        } else {
            ++h.grown;
        }
        h.last = now.count;
        if (h.grown < state_->options.looks || now.count < state_->options.count_min) continue;
        suspects.push_back({.started = where.where,
                            .name = now.name,
                            .count = now.count,
                            .grew_by = now.count - h.first,
                            .longest = std::chrono::nanoseconds(now.longest_ns)});
    }
    std::sort(suspects.begin(), suspects.end(), [](const leak_suspect& a, const leak_suspect& b) {
        return a.count != b.count ? a.count > b.count : place{a.started} < place{b.started};
    });
    return suspects;
}

}  // namespace weft::observe
