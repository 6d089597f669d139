// summary.cc: see summary.h.
#include "observe/summary.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "debug/g_snapshot.h"
#include "observe/history.h"
#include "observe/table.h"

namespace weft::observe::detail {

namespace {

constexpr std::size_t delays_shown = 10;
constexpr std::size_t ps_shown = 4;     // of those that ran others during a delay
constexpr std::size_t rows_shown = 30;  // of a table
constexpr std::size_t stacks_shown = 10;

double as_double(int64_t ns) noexcept { return static_cast<double>(ns); }

constexpr std::size_t index_of(life l) noexcept { return static_cast<std::size_t>(l); }

constexpr std::size_t lives = index_of(life::ended) + 1;

// Time in each state.
using split = std::array<double, lives>;  // sums of a damaged file may exceed int64_t

struct group_of_gs {
    std::size_t count = 0;
    split ns{};
    int64_t longest_runnable_ns = 0;
    std::map<uint8_t, double> waits_ns;  // by reason
    std::size_t last_g = no_g;           // that was counted

    void add(std::size_t g, const interval& i) {
        if (last_g != g) ++count;
        last_g = g;
        ns[index_of(i.what)] += as_double(i.ns());
        if (i.what == life::runnable) longest_runnable_ns = (std::max)(longest_runnable_ns, i.ns());
        if (i.what == life::waiting) waits_ns[i.reason] += as_double(i.ns());
    }
};

struct group_of_waits {
    uint64_t count = 0;
    double ns = 0;
    int64_t longest_ns = 0;
};

struct group_of_regions {
    std::vector<int64_t> lengths_ns;
    split ns{};
    std::size_t open = 0;
};

struct delay {
    std::size_t g;
    const interval* what;
};

std::string percent(double part, double of) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f %%", of == 0 ? 0. : 100. * part / of);
    return text;
}

std::string time_of_day(int64_t realtime_ns) {
    const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
    std::tm parts{};
    char text[64] = "?";
    if (::gmtime_r(&seconds, &parts) != nullptr) {
        const std::size_t size = std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
        std::snprintf(text + size, sizeof(text) - size, ".%03d UTC",
                      static_cast<int>((std::max)(realtime_ns, int64_t{0}) / 1'000'000 % 1000));
    }
    return text;
}

std::string seconds_into(const recorded& r, int64_t ns) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.6f s", static_cast<double>(ns - r.began_ns) / 1e9);
    return text;
}

// The intervals of g that overlap a time, cut to it.
template <typename F>
void for_each_within(const g_history& g, int64_t from_ns, int64_t to_ns, F take) {
    auto at = std::lower_bound(g.intervals.begin(), g.intervals.end(), from_ns,
                               [](const interval& i, int64_t ns) { return i.to_ns <= ns; });
    for (; at != g.intervals.end() && at->from_ns < to_ns; ++at) {
        interval cut = *at;
        cut.from_ns = (std::max)(cut.from_ns, from_ns);
        cut.to_ns = (std::min)(cut.to_ns, to_ns);
        if (cut.ns() > 0) take(cut);
    }
}

// How long a G was in each state until a time. Many regions may have the same intervals.
class sums {
public:
    explicit sums(const g_history& g) : g_(&g) {
        split so_far{};
        before_.reserve(g.intervals.size());
        for (const interval& i : g.intervals) {
            before_.push_back(so_far);
            so_far[index_of(i.what)] += as_double(i.ns());
        }
        all_ = so_far;
    }

    void add(split& to, int64_t from_ns, int64_t to_ns) const {
        const split until_begin = until(from_ns);
        const split until_end = until(to_ns);
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += until_end[i] - until_begin[i];
    }

private:
    [[nodiscard]] split until(int64_t ns) const {
        const std::vector<interval>& all = g_->intervals;
        const auto at =
            std::lower_bound(all.begin(), all.end(), ns, [](const interval& i, int64_t t) { return i.to_ns <= t; });
        if (at == all.end()) return all_;
        split sum = before_[static_cast<std::size_t>(at - all.begin())];
        if (at->from_ns < ns) sum[index_of(at->what)] += as_double(ns - at->from_ns);
        return sum;
    }

    const g_history* g_;
    std::vector<split> before_;  // each interval
    split all_{};
};

class summary {
public:
    explicit summary(const recorded& r) : r_(r), h_(history_of(r)) {}

    std::string text() {
        add_head();
        add_gs();
        add_labels();
        add_waits();
        add_stacks();
        add_delays();
        add_regions();
        return std::move(text_);
    }

private:
    void add_head() {
        uint64_t lost = 0;
        std::size_t threads = 0;
        for (const recorded_ring& t : r_.threads) {
            lost += t.lost;
            if (!t.is_outside) ++threads;
        }
        text_ += r_.program + ", process " + std::to_string(r_.pid) + ": " + duration_text(r_.ended_ns - r_.began_ns) +
                 " from " + time_of_day(r_.began_ns + r_.realtime_minus_monotonic_ns) + "\n";
        text_ += std::to_string(r_.steps.size()) + " events of " + std::to_string(h_.gs.size()) + " green threads on " +
                 std::to_string(threads) + " threads; " + std::to_string(lost) + " older ones were overwritten\n";
        double busy = 0;
        for (const auto& [p, runs] : h_.ps) {
            for (const run_on_p& run : runs) busy += as_double(run.to_ns - run.from_ns);
        }
        const double all = as_double(r_.ended_ns - r_.began_ns) * static_cast<double>(h_.ps.size());
        text_ += std::to_string(h_.ps.size()) + " Ps ran green threads " + percent(busy, all) + " of the time\n";
        add_cpu_delays();
        if (r_.unrecorded != 0) {
            text_ += "There was no memory for the events of " + std::to_string(r_.unrecorded) + " threads.\n";
        }
        if (r_.is_filtered) text_ += "Other green threads are left out.\n";
    }

    void add_cpu_delays() {
        constexpr std::size_t shown = 8;  // of the threads
        double all = 0;
        std::vector<std::pair<double, uint32_t>> by_m;
        for (const auto& [m, ns] : h_.cpu_delays_ns) {
            all += ns;
            by_m.emplace_back(ns, m);
        }
        if (by_m.empty()) return;
        std::sort(by_m.begin(), by_m.end(), std::greater<>());
        text_ += "Threads were runnable, and the system gave them no CPU, for " + duration_text(all) + " in all (";
        for (std::size_t i = 0; i < (std::min)(by_m.size(), shown); ++i) {
            text_ += (i == 0 ? "M" : ", M") + std::to_string(by_m[i].second) + " " + duration_text(by_m[i].first);
        }
        text_ += by_m.size() > shown ? ", …)\n" : ")\n";
    }

    std::string place(const g_history& g) {
        std::string where = place_of(r_, g.site);
        return where.empty() ? "(unknown)" : where;
    }

    void add_gs() {
        std::map<std::string, group_of_gs> groups;
        for (std::size_t at = 0; at < h_.gs.size(); ++at) {
            const g_history& g = h_.gs[at];
            group_of_gs& group = groups[place(g)];
            for (const interval& i : g.intervals) group.add(at, i);
            if (g.intervals.empty()) ++group.count;
        }
        text_ += "\nGreen threads, by the place where they were started\n" + table_of(groups, "started at", false);
    }

    // A green thread counts for each label that it had; its time for those that it had then.
    void add_labels() {
        std::map<std::string, group_of_gs> groups;
        for (std::size_t at = 0; at < h_.gs.size(); ++at) {
            for (const interval& i : h_.gs[at].intervals) {
                for_each_label(r_.texts[i.labels], [&](std::string_view key, std::string_view value) {
                    groups[printable(std::string(key) + "=" + std::string(value))].add(at, i);
                });
            }
        }
        if (!groups.empty()) text_ += "\nGreen threads, by label\n" + table_of(groups, "label", true);
    }

    static std::string table_of(const std::map<std::string, group_of_gs>& groups, const char* head, bool shows_waits) {
        std::vector<std::string> heads{head, "count", "running", "runnable", "waiting", "in calls", "longest runnable"};
        if (shows_waits) heads.insert(heads.end(), {"waits most for", ""});
        table t(std::move(heads));
        for (const auto& [what, group] :
             sorted(groups, [](const group_of_gs& g) { return g.ns[index_of(life::running)]; })) {
            std::vector<std::string> row{what,
                                         std::to_string(group->count),
                                         duration_text(group->ns[index_of(life::running)]),
                                         duration_text(group->ns[index_of(life::runnable)]),
                                         duration_text(group->ns[index_of(life::waiting)]),
                                         duration_text(group->ns[index_of(life::in_call)]),
                                         duration_text(group->longest_runnable_ns)};
            if (shows_waits) add_most_waited(*group, row);
            t.add(std::move(row));
        }
        return t.text(rows_shown);
    }

    static void add_most_waited(const group_of_gs& group, std::vector<std::string>& row) {
        const auto most = std::max_element(group.waits_ns.begin(), group.waits_ns.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (most == group.waits_ns.end()) {
            row.insert(row.end(), {"", ""});
            return;
        }
        row.emplace_back(weft::detail::text(static_cast<weft::detail::wait_reason>(most->first)));
        row.push_back(percent(most->second, group.ns[index_of(life::waiting)]));
    }

    void add_waits() {
        std::map<std::string, group_of_waits> groups;
        for (const g_history& g : h_.gs) {
            for (const interval& i : g.intervals) {
                if (i.what != life::waiting) continue;
                const std::string why = weft::detail::text(static_cast<weft::detail::wait_reason>(i.reason));
                group_of_waits& group = groups[place(g) + '\0' + why];
                ++group.count;
                group.ns += as_double(i.ns());
                group.longest_ns = (std::max)(group.longest_ns, i.ns());
            }
        }
        table t({"started at", "waits for", "times", "in all", "longest"}, 2);
        for (const auto& [key, group] : sorted(groups, [](const group_of_waits& g) { return g.ns; })) {
            const std::size_t cut = key.find('\0');
            t.add({key.substr(0, cut), key.substr(cut + 1), std::to_string(group->count), duration_text(group->ns),
                   duration_text(group->longest_ns)});
        }
        text_ += "\nWaits\n" + t.text(rows_shown);
    }

    // Where green threads waited, of those waits that were recorded with a stack.
    void add_stacks() {
        std::map<std::string, group_of_waits> groups;
        for (const g_history& g : h_.gs) {
            for (const interval& i : g.intervals) {
                if (i.stack == 0) continue;
                group_of_waits& group = groups[text_of(i) + '\n' + r_.texts[i.stack]];
                ++group.count;
                group.ns += as_double(i.ns());
                group.longest_ns = (std::max)(group.longest_ns, i.ns());
            }
        }
        if (groups.empty()) return;
        text_ += "\nWhere they waited: waits that were recorded with a stack, the longest in all first\n";
        std::size_t shown = 0;
        for (const auto& [key, group] : sorted(groups, [](const group_of_waits& g) { return g.ns; })) {
            if (shown++ == stacks_shown) {
                text_ += "  … and " + std::to_string(groups.size() - stacks_shown) + " more\n";
                break;
            }
            text_ += "  " + padded(duration_text(group->ns), 9) + " in " + std::to_string(group->count) +
                     " waits, the longest " + duration_text(group->longest_ns) + ": ";
            for (const char& c : key) text_ += c == '\n' ? "\n               " : printable({&c, 1});
            text_ += "\n";
        }
    }

    void add_delays() {
        std::vector<delay> all;
        for (std::size_t at = 0; at < h_.gs.size(); ++at) {
            for (const interval& i : h_.gs[at].intervals) {
                if (i.what == life::runnable) all.push_back({at, &i});
            }
        }
        const std::size_t shown = (std::min)(all.size(), delays_shown);
        std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end(),
                          [](const delay& a, const delay& b) { return a.what->ns() > b.what->ns(); });
        text_ += "\nLongest delays: runnable without running\n";
        for (std::size_t i = 0; i < shown; ++i) add_delay(all[i]);
        if (shown == 0) text_ += "  none\n";
    }

    void add_delay(const delay& d) {
        text_ += "  " + padded(duration_text(d.what->ns()), 9) + "  at " + seconds_into(r_, d.what->from_ns) + "  " +
                 title_and_place(r_, h_.gs[d.g]);
        if (d.what->waker != no_g) text_ += ", made runnable by " + h_.gs[d.what->waker].title;
        if (d.what->is_open) text_ += ", and still is";
        text_ += "\n";
        std::map<uint32_t, const std::vector<run_on_p>*> ps;
        for (const auto& [p, runs] : h_.ps) ps.emplace(p, &runs);
        std::size_t shown = 0;
        for (const auto& [p, runs] : ps) {
            if (shown == ps_shown) {
                text_ += "             … and " + std::to_string(ps.size() - shown) + " more Ps\n";
                break;
            }
            ++shown;
            text_ +=
                "             P" + std::to_string(p) + " ran " + what_ran(*runs, d.what->from_ns, d.what->to_ns) + "\n";
        }
    }

    // The one that ran longest on a P in a time.
    std::string what_ran(const std::vector<run_on_p>& runs, int64_t from_ns, int64_t to_ns) {
        std::map<std::size_t, int64_t> by_g;
        auto at = std::lower_bound(runs.begin(), runs.end(), from_ns,
                                   [](const run_on_p& run, int64_t ns) { return run.to_ns <= ns; });
        for (; at != runs.end() && at->from_ns < to_ns; ++at) {
            by_g[at->g] += (std::min)(at->to_ns, to_ns) - (std::max)(at->from_ns, from_ns);
        }
        if (by_g.empty()) return "nothing";
        const auto most = std::max_element(by_g.begin(), by_g.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        std::string text = title_and_place(r_, h_.gs[most->first]) + " for " + duration_text(most->second);
        if (by_g.size() > 1) text += ", and " + std::to_string(by_g.size() - 1) + " more";
        return text;
    }

    const sums& sums_of(std::size_t g) {
        const auto found = sums_.find(g);
        return found != sums_.end() ? found->second : sums_.emplace(g, sums(h_.gs[g])).first->second;
    }

    void add_regions() {
        std::map<std::string, group_of_regions> groups;
        for (const region_history& region : h_.regions) {
            group_of_regions& group = groups[region.name];
            if (region.is_open) ++group.open;
            group.lengths_ns.push_back(region.to_ns - region.from_ns);
            sums_of(region.g).add(group.ns, region.from_ns, region.to_ns);
        }
        if (groups.empty()) return;
        table t({"region", "count", "median", "99 %", "longest", "running", "runnable", "waiting", "in calls"});
        for (auto& [name, group] : groups) {
            std::vector<int64_t>& lengths = group.lengths_ns;
            std::sort(lengths.begin(), lengths.end());
            double all = 0;
            for (const int64_t ns : lengths) all += as_double(ns);
            t.add({printable(name), std::to_string(lengths.size()), duration_text(lengths[(lengths.size() - 1) / 2]),
                   duration_text(lengths[(lengths.size() - 1) * 99 / 100]), duration_text(lengths.back()),
                   percent(group.ns[index_of(life::running)], all), percent(group.ns[index_of(life::runnable)], all),
                   percent(group.ns[index_of(life::waiting)], all), percent(group.ns[index_of(life::in_call)], all)});
        }
        text_ += "\nRegions\n" + t.text(rows_shown);
    }

    // Those with most first.
    template <typename T, typename F>
    static std::vector<std::pair<std::string, const T*>> sorted(const std::map<std::string, T>& groups, F most) {
        std::vector<std::pair<std::string, const T*>> all;
        all.reserve(groups.size());
        for (const auto& [key, group] : groups) all.emplace_back(key, &group);
        std::stable_sort(all.begin(), all.end(),
                         [&](const auto& a, const auto& b) { return most(*a.second) > most(*b.second); });
        return all;
    }

    const recorded& r_;
    const history h_;
    std::map<std::size_t, sums> sums_;  // of those with regions
    std::string text_;
};

}  // namespace

std::string summary_of(const recorded& r) { return summary(r).text(); }

// ---- The critical path.

namespace {

// A part of the path.
struct part {
    std::size_t g;
    interval what;
};

class path {
public:
    path(const recorded& r, const history& h, const region_history& region) : r_(r), h_(h), region_(region) {
        follow(region.g, region.from_ns, region.to_ns, 0);
        std::reverse(parts_.begin(), parts_.end());
    }

    std::string text() {
        const int64_t all = region_.to_ns - region_.from_ns;
        merge_parts();
        const int64_t least = (std::max)(least_shown(), all / 1000);
        std::string text;
        std::size_t left_out = 0;
        int64_t left_out_ns = 0;
        table t({"after", "for", "", ""}, 0);
        for (const part& p : parts_) {
            if (p.what.ns() < least) {
                ++left_out;
                left_out_ns += p.what.ns();
                continue;
            }
            const std::string what = title_and_place(r_, h_.gs[p.g]) + " " + text_of(p.what);
            t.add({duration_text(p.what.from_ns - region_.from_ns), duration_text(p.what.ns()),
                   percent(as_double(p.what.ns()), as_double(all)), what});
        }
        text += t.text(parts_shown + 1);
        if (left_out != 0) {
            text += "  " + std::to_string(left_out) + " shorter parts take " + duration_text(left_out_ns) + "\n";
        }
        return text;
    }

private:
    static constexpr int depth_most = 64;
    static constexpr std::size_t parts_shown = 40;

    // Backwards: what g did in a time, and in place of a wait what the one did that ended it.
    void follow(std::size_t g, int64_t from_ns, int64_t to_ns, int depth) {
        std::vector<interval> within;
        for_each_within(h_.gs[g], from_ns, to_ns, [&](const interval& i) { within.push_back(i); });
        int64_t until = to_ns;
        for (auto i = within.rbegin(); i != within.rend(); ++i) {
            if (i->to_ns < until) add_gap(g, i->to_ns, until);
            until = i->from_ns;
            const bool is_ended_by_g = i->what == life::waiting && i->waker != no_g && i->waker != g;
            if (is_ended_by_g && !i->is_open && depth < depth_most) {
                follow(i->waker, i->from_ns, i->to_ns, depth + 1);
            } else {
                parts_.push_back({g, *i});
            }
        }
        if (until <= from_ns) return;
        // Before its start: what the one did that started it.
        const std::vector<interval>& all = h_.gs[g].intervals;
        const std::size_t starter =
            h_.gs[g].has_started && !all.empty() && all.front().from_ns >= until ? all.front().waker : no_g;
        if (starter != no_g && starter != g && depth < depth_most) {
            follow(starter, from_ns, until, depth + 1);
        } else {
            add_gap(g, from_ns, until);
        }
    }

    // g had not started, or the recording does not say.
    void add_gap(std::size_t g, int64_t from_ns, int64_t to_ns) {
        parts_.push_back({g, {.from_ns = from_ns, .to_ns = to_ns, .what = life::unknown}});
    }

    // Neighbours that say the same become one.
    void merge_parts() {
        std::vector<part> merged;
        for (const part& p : parts_) {
            if (!merged.empty()) {
                part& last = merged.back();
                const bool same = last.g == p.g && last.what.what == p.what.what && last.what.reason == p.what.reason &&
                                  (last.what.p == no_p) == (p.what.p == no_p) && last.what.waker == p.what.waker;
                if (same) {
                    last.what.to_ns = p.what.to_ns;
                    continue;
                }
            }
            merged.push_back(p);
        }
        parts_ = std::move(merged);
    }

    // So that at most parts_shown are at least as long.
    [[nodiscard]] int64_t least_shown() const {
        if (parts_.size() <= parts_shown) return 0;
        std::vector<int64_t> lengths;
        lengths.reserve(parts_.size());
        for (const part& p : parts_) lengths.push_back(p.what.ns());
        const auto last = lengths.begin() + static_cast<std::ptrdiff_t>(parts_shown);
        std::nth_element(lengths.begin(), last, lengths.end(), std::greater<>());
        return *last + 1;
    }

    const recorded& r_;
    const history& h_;
    const region_history region_;
    std::vector<part> parts_;
};

}  // namespace

std::string critical_path_of(const recorded& r, std::string_view region) {
    const history h = history_of(r);
    const region_history* longest = nullptr;
    std::size_t count = 0;
    std::map<std::string, std::size_t> names;
    for (const region_history& one : h.regions) {
        ++names[one.name];
        if (one.name != region) continue;
        ++count;
        if (longest == nullptr || one.to_ns - one.from_ns > longest->to_ns - longest->from_ns) longest = &one;
    }
    if (longest == nullptr) {
        std::string message = "weft: the recording has no region \"" + std::string(region) + "\"; ";
        message += names.empty() ? "it has none at all; see weft/trace.h" : "it has:";
        for (const auto& [name, n] : names) message += " " + name + " (" + std::to_string(n) + ")";
        throw std::invalid_argument(message);
    }
    std::string text = "The longest of " + std::to_string(count) + " regions \"" + std::string(region) +
                       "\": " + duration_text(longest->to_ns - longest->from_ns) + " at " +
                       seconds_into(r, longest->from_ns) + ", in " + title_and_place(r, h.gs[longest->g]) + "\n";
    if (longest->is_open) text += "It went on when the recording ended.\n";
    return text + path(r, h, *longest).text();
}

}  // namespace weft::observe::detail
