// wait_profiles.cc: how long green threads waited, or were runnable, from a recording.
//
// A recording has no stacks, so the place where a green thread was started stands for its stack.
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <weft/observe/profile.h>

#include "debug/g_snapshot.h"
#include "observe/access.h"
#include "observe/code_names.h"
#include "observe/pprof.h"
#include "observe/profile_maker.h"
#include "observe/timeline.h"

namespace weft::observe {

namespace detail {

namespace {

// Adds up the times that green threads spent in one state.
class time_in final : public teller {
public:
    time_in(const recorded& r, life state) : r_(r), state_(state) {}

    void changes(const change& c) override {
        if (c.before.now != state_) return;
        // A green thread that waits cannot end: this is the end of the recording.
        const bool is_over = c.after != life::ended;
        if (!is_over) {
            ++unended_;
            return;
        }
        const uint8_t reason = state_ == life::waiting ? c.before.reason : uint8_t{0};
        total& t = totals_[{c.before.site, reason, first_like(c.before.name), first_like(c.before.labels)}];
        ++t.count;
        t.ns += c.ns - c.before.since_ns;
    }

    [[nodiscard]] std::string encode() const {
        const value_type values[] = {{"contentions", "count"}, {"delay", "nanoseconds"}};
        pprof to(values);
        const code_names program(to);  // tools want to know whose profile it is
        for (const auto& [key, t] : totals_) {
            const auto& [site, reason, name, labels] = key;
            std::vector<uint64_t> locations;
            if (state_ == life::waiting)
                locations.push_back(to.add_place({text(static_cast<weft::detail::wait_reason>(reason)), "", 0}));
            locations.push_back(to.add_place(place_of_start(r_, site)));
            const int64_t sums[] = {t.count, t.ns};
            std::vector<profile_label> all;
            if (name != 0) all.push_back({"name", r_.texts[name]});
            for_each_label(r_.texts[labels],
                           [&](std::string_view label, std::string_view value) { all.push_back({label, value}); });
            to.add_sample(locations, sums, all);
        }
        to.set_period(values[0], 1);
        to.set_time(r_.began_ns + r_.realtime_minus_monotonic_ns, r_.ended_ns - r_.began_ns);
        if (unended_ != 0) {
            to.add_comment(
                "weft: " + std::to_string(unended_) +
                (state_ == life::waiting ? " green threads still waited" : " green threads were still runnable") +
                " at the end; these times are not counted");
        }
        uint64_t lost = 0;
        for (const recorded_ring& ring : r_.threads) lost += ring.lost;
        if (lost != 0)
            to.add_comment("weft: " + std::to_string(lost) +
                           " events before the beginning of the recording were overwritten");
        return to.finish();
    }

    void moves(int64_t /*ns*/, const track& /*g*/, uint32_t /*from_p*/, uint32_t /*to_p*/) override {}

    void wakes(const wake_up& /*w*/) override {}

    void begin_region(int64_t /*ns*/, const track& /*g*/, const char* /*name*/) override {}

    void end_region(int64_t /*ns*/, const track& /*g*/) override {}

    void counter(int64_t /*ns*/, uint32_t /*thread*/, const char* /*name*/, double /*value*/) override {}

    void relabels(int64_t /*ns*/, const track& /*g*/, uint32_t /*labels*/, uint32_t /*thread*/) override {}

    void log(int64_t /*ns*/, const track* /*g*/, uint32_t /*thread*/, const std::string& /*text*/) override {}

    void thread_event(const step& /*s*/) override {}

private:
    struct total {
        int64_t count = 0;
        int64_t ns = 0;
    };

    static code_line place_of_start(const recorded& r, uint64_t site) {
        const auto found = r.places.find(site);
        if (found == r.places.end() || found->second.file.empty()) return {"started before the recording", "", 0};
        const place& where = found->second;
        // Tools add up what has the same function, and one function may start several.
        return {"started at " + place_of(where), where.file, where.line};
    }

    // Many green threads have the same name, each as a text of its own.
    uint32_t first_like(uint32_t text) { return firsts_.try_emplace(r_.texts[text], text).first->second; }

    const recorded& r_;
    life state_;
    std::unordered_map<std::string_view, uint32_t> firsts_;
    std::map<std::tuple<uint64_t, uint8_t, uint32_t, uint32_t>, total> totals_;  // by site, reason, name, labels
    uint64_t unended_ = 0;
};

profile profile_of(const recording& r, life state) {
    time_in times(access::content_of(r), state);
    replay(access::content_of(r), times);
    return profile_maker::make(times.encode());
}

}  // namespace

}  // namespace detail

profile scheduling_profile(const recording& r) { return detail::profile_of(r, detail::life::runnable); }

profile blocking_profile(const recording& r) { return detail::profile_of(r, detail::life::waiting); }

}  // namespace weft::observe
