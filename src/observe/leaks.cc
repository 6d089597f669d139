// leaks.cc: leaks(): scans, and what their results are.
//
// Nothing that has leaked runs again, so after the scan each can be read like any green thread that
// waits. A scan that finds nothing is the only one. Otherwise a second scan confirms what the first
// has found: a heap that malloc was changing at that moment, or a register that could not be read,
// does not lead to a wrong report.
//
// Threads: any.
#include <algorithm>
#include <mutex>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <weft/blocking.h>
#include <weft/observe/leaks.h>

#include "context/sanitizer.h"
#include "debug/all_gs.h"
#include "debug/wait_cycles.h"
#include "observe/leak_report.h"
#include "observe/leak_scan.h"
#include "observe/profile_maker.h"
#include "observe/subject.h"
#include "os/os.h"
#include "sched/scheduler.h"

namespace weft::observe {

namespace {

using weft::detail::g_snapshot;
using weft::detail::scheduler;
using weft::detail::wait_cycle_link;
using ids = std::unordered_set<uint64_t>;

constexpr int64_t between_scans_ns = 5'000'000;

// Two scans at a time would trace each other's threads.
std::mutex one_scan;

std::string reason_of(const detail::scan_outcome& outcome, detail::search_error error) {
    if (outcome.error != 0) {
        return "the process could not be copied (" + std::generic_category().message(outcome.error) + ")";
    }
    switch (error) {
        case detail::search_error::no_memory:
            return "there is no memory for the search";
        case detail::search_error::no_memory_map:
            return "/proc/self/maps cannot be read";
        default:
            return "the search did not end in time; raise leak_options::time_limit";
    }
}

ids found_in(const detail::search_result& result, const scheduler& of) {
    ids found;
    for (std::size_t i = 0; i < std::min(result.found_count, detail::search_result::found_max); ++i) {
        if (result.found[i].home == &of) found.insert(result.found[i].id);
    }
    return found;
}

void note(leak_figures& figures, const detail::scan_outcome& outcome, const detail::search_result& result) {
    using std::chrono::nanoseconds;
    figures.live = result.live;
    figures.waiting = result.waiting;
    figures.heap_bytes = result.heap_bytes;
    figures.other_bytes = result.other_bytes;
    figures.has_registers = outcome.has_registers;
    figures.pause = std::max(figures.pause, nanoseconds(outcome.pause_ns));
    figures.copy = std::max(figures.copy, nanoseconds(outcome.copy_ns));
    figures.copy_cpu = std::max(figures.copy_cpu, nanoseconds(outcome.copy_cpu_ns));
    figures.search = std::max(figures.search, nanoseconds(outcome.search_ns));
    ++figures.scans;
}

// Empty, and into.not_searched says why, if a scan failed.
ids search(const scheduler& of, const leak_options& options, leak_report_maker::content& into) {
    const std::lock_guard guard(one_scan);
    detail::leak_scan scan;
    ids found;
    for (int i = 0; i < 2; ++i) {
        if (i != 0) weft::detail::os::sleep_ns(between_scans_ns);
        const detail::scan_outcome outcome = scan.run(options.time_limit.count(), options.stop_threads);
        note(into.figures, outcome, scan.result());
        if (!outcome.is_complete) {
            into.not_searched = reason_of(outcome, scan.result().error);
            return {};
        }
        ids seen = found_in(scan.result(), of);
        if (i == 0) {
            found = std::move(seen);
        } else {
            std::erase_if(found, [&](uint64_t id) { return seen.count(id) == 0; });
        }
        if (found.empty()) break;
    }
    return found;
}

using cycles = std::vector<std::vector<wait_cycle_link>>;

cycles cycles_of(scheduler& s) {
    cycles all;
    weft::detail::for_each_wait_cycle(
        s,
        [](void* closure, const wait_cycle_link* links, uint32_t count) {
            static_cast<cycles*>(closure)->emplace_back(links, links + count);
        },
        &all);
    return all;
}

bool is_same(const std::vector<wait_cycle_link>& a, const std::vector<wait_cycle_link>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const wait_cycle_link& x, const wait_cycle_link& y) {
        return x.id == y.id && x.home == y.home && x.since_ns == y.since_ns && x.object == y.object;
    });
}

// All of these waits lasted from the first search to the second one, so they are a cycle.
void add_cycles(scheduler& s, leak_report_maker::content& into) {
    const cycles before = cycles_of(s);
    if (before.empty()) return;
    for (const std::vector<wait_cycle_link>& now : cycles_of(s)) {
        const auto same = [&](const auto& other) { return is_same(now, other); };
        if (std::none_of(before.begin(), before.end(), same)) continue;
        wait_cycle& cycle = into.cycles.emplace_back();
        for (const wait_cycle_link& l : now) cycle.links.push_back({l.id, l.name, text(l.reason), l.object});
    }
}

// The stacks of those that have leaked, and are in no cycle.
void add_groups(scheduler& s, const ids& found, leak_report_maker::content& into) {
    struct closure {
        const ids& found;
        const int64_t now_ns;
        detail::leak_groups groups;

        static void add(void* self, const g_snapshot& g, const label_set& labels) {
            auto& c = *static_cast<closure*>(self);
            if (c.found.count(g.who.id) != 0) c.groups.add(g, labels, c.now_ns);
        }
    } each{found, weft::detail::os::monotonic_ns(), {}};

    weft::detail::for_each_g(s, &closure::add, &each);
    each.groups.move_to(into);
}

}  // namespace

leak_report detail::search_for_leaks_of(const detail::subject& of, const leak_options& options) {
    return blocking([&] {
        leak_report_maker::content c;
        c.what = "leaked: nothing can wake them";
        c.taken_unix_ns = detail::unix_ns();
        const detail::pinned_subject s = of.use();
        if (!s) {
            c.not_searched = "the runtime has stopped";
            return leak_report_maker::make(std::move(c));
        }
        add_cycles(*s, c);
        if constexpr (weft::detail::sanitized) {
            c.not_searched = "this program is built with a sanitizer, which has its own malloc";
        } else {
            ids found = search(*s, options, c);
            for (const wait_cycle& cycle : c.cycles) {
                for (const wait_cycle::link& l : cycle.links) found.erase(l.id);
            }
            if (!found.empty()) add_groups(*s, found, c);
        }
        return leak_report_maker::make(std::move(c));
    });
}

leak_report leaks(const leak_options& options) { return detail::search_for_leaks_of(detail::subject(), options); }

leak_report leaks(const runtime& of, const leak_options& options) {
    return detail::search_for_leaks_of(detail::subject(of, "weft: leaks were searched in"), options);
}

}  // namespace weft::observe
