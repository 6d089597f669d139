// program.cc: see program.h.
#include "corpus/program.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#if WITH_WEFT_OBSERVE
#include <weft/observe/leaks.h>
#endif

#include "sched/current.h"
#include "sched/scheduler.h"
#include "support/captured.h"
#include "support/eventually.h"
#include "support/leaks.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/watchdog.h"

namespace weft::test {

namespace {

constexpr unsigned procs_tried[] = {1, 2, 4};
constexpr int hangs = 5;                   // on each number of processors
constexpr int ends = 200;                  // the same
constexpr std::chrono::seconds slack(15);  // waits that time out report better than the watchdog

// The headline of a green thread in a dump: green thread 7 "name" [state or wait reason, duration,
// P0]:
constexpr std::string_view headline = "green thread ";

std::string_view between(std::string_view text, char open, char close) {
    const std::size_t begin = text.find(open);
    if (begin == text.npos) return {};
    return text.substr(begin + 1, text.find(close, begin + 1) - begin - 1);
}

std::vector<blocked> green_threads_in(const std::string& dump) {
    std::vector<blocked> found;
    for (const std::string& line : lines_of(dump)) {
        if (line.rfind(headline, 0) != 0) continue;
        found.push_back({std::string(between(line, '"', '"')), std::string(between(line, '[', ','))});
    }
    std::sort(found.begin(), found.end());
    return found;
}

bool may_go_on(const blocked& g) {
    for (const std::string_view state : {"running", "runnable", "in call", "idle"}) {
        if (g.on == state) return true;
    }
    return false;
}

bool asleep(const stats_snapshot& s) { return s.procs_idle == s.procs && s.threads_spinning == 0; }

bool same(const stats_snapshot& a, const stats_snapshot& b) {
    return a.spawned == b.spawned && a.finished == b.finished && a.switches == b.switches && a.parks == b.parks &&
           a.timers_fired == b.timers_fired;
}

bool has_timers(const weft::detail::scheduler& s) {
    for (uint32_t i = 0; i < s.ps.in_use(); ++i) {
        if (s.ps[i].timers.next_deadline() != weft::detail::never) return true;
    }
    return false;
}

#if WITH_WEFT_OBSERVE

// Those that the search for leaks reports: in groups, or in a cycle.
std::vector<blocked> reported_as_leaks(const observe::leak_report& report) {
    std::vector<blocked> found;
    for (const observe::leak_group& g : report.groups()) found.insert(found.end(), g.count, {g.name, g.state});
    for (const observe::wait_cycle& c : report.cycles()) {
        for (const observe::wait_cycle::link& l : c.links) found.push_back({l.name, l.state});
    }
    std::sort(found.begin(), found.end());
    return found;
}

// The search is conservative, so a word that happens to look like an address may hide a leak from
// one scan. None of a bug's green threads may be missing from all scans.
class leaks_expected {
public:
    explicit leaks_expected(const std::vector<blocked>& expected) : expected_(expected) {}

    ~leaks_expected() {
        if (scans_ == 0) return;
        EXPECT_GT(found_, 0) << "of " << scans_ << " scans, none found all; the last one:\n" << last_;
        ::testing::Test::RecordProperty("scans", scans_);
        ::testing::Test::RecordProperty("found", found_);
    }

    leaks_expected(const leaks_expected&) = delete;
    leaks_expected& operator=(const leaks_expected&) = delete;

    void scan(const runtime& rt) {
        const observe::leak_report report = observe::leaks(rt);
        if (!report.not_searched().empty()) return;  // a sanitizer's malloc
        const std::vector<blocked> reported = reported_as_leaks(report);
        EXPECT_TRUE(std::includes(expected_.begin(), expected_.end(), reported.begin(), reported.end()))
            << report.text();
        ++scans_;
        if (reported == expected_) {
            ++found_;
        } else {
            last_ = report.text();
        }
    }

    // More scans are not needed.
    [[nodiscard]] bool is_done(int round) const noexcept { return round != 0 && found_ != 0; }

private:
    const std::vector<blocked> expected_;
    int scans_ = 0;
    int found_ = 0;
    std::string last_;
};

void expect_no_leaks(const runtime& rt) {
    const observe::leak_report report = observe::leaks(rt);
    EXPECT_TRUE(report.empty()) << report.text();
}

#else

class leaks_expected {
public:
    explicit leaks_expected(const std::vector<blocked>& /*expected*/) {}

    void scan(const runtime& /*rt*/) {}

    [[nodiscard]] bool is_done(int /*round*/) const noexcept { return true; }
};

void expect_no_leaks(const runtime&) {}

#endif

// Deletes the program at its end.
class hidden_owner {
public:
    hidden_owner() = default;

    ~hidden_owner() {
        if (p_.has_value()) delete &**p_;
    }

    hidden_owner(const hidden_owner&) = delete;
    hidden_owner& operator=(const hidden_owner&) = delete;

    void own(std::unique_ptr<program> p) { p_.emplace(*p.release()); }

    [[nodiscard]] hidden_program get() const { return *p_; }

private:
    std::optional<hidden_program> p_;
};

watchdog watch(runtime& rt) {
    return watchdog(current_test_name(), patience() + slack, [&rt] { rt.dump(2); });
}

}  // namespace

std::vector<blocked> left_when_quiet(runtime& rt, hidden_program p, std::string& dump) {
    const weft::detail::scheduler* s = rt.run([] { return weft::detail::current_m()->home; });
    rt.go({.name = "main"}, [p] { p->run(); });
    std::vector<blocked> left;
    eventually([&] {
        const stats_snapshot before = rt.stats();
        if (!asleep(before) || has_timers(*s)) return false;
        dump = written_by([&](int fd) { rt.dump(fd, {.grouped = false, .names = false}); });
        left = green_threads_in(dump);
        if (std::any_of(left.begin(), left.end(), may_go_on)) return false;
        const stats_snapshot after = rt.stats();
        return asleep(after) && same(before, after) && !has_timers(*s);
    });
    return left;
}

void expect_hang(maker make, std::vector<blocked> expected) {
    leak_on_purpose();
    std::sort(expected.begin(), expected.end());
    leaks_expected leaks(expected);
    for (const unsigned procs : procs_tried) {
        for (int round = 0; round < scaled(hangs); ++round) {
            SCOPED_TRACE("P=" + std::to_string(procs));
            // The program outlives the runtime's green threads. Destroyed, it is in the state that
            // they left.
            hidden_owner p;
            runtime rt({.procs = procs});
            // A green thread, so that this thread never has the address.
            rt.run([&] { p.own(make({.buggy = true, .forced = true})); });
            const watchdog dog = watch(rt);
            std::string dump;
            const std::vector<blocked> left = left_when_quiet(rt, p.get(), dump);
            if (left == expected && !leaks.is_done(round)) leaks.scan(rt);
            EXPECT_EQ(rt.abandon(), left.size());
            EXPECT_EQ(left, expected) << dump;
            if (left != expected) return;
        }
    }
}

void expect_end(maker make, bool forced_too) {
    for (const unsigned procs : procs_tried) {
        SCOPED_TRACE("P=" + std::to_string(procs));
        runtime rt({.procs = procs});
        const watchdog dog = watch(rt);
        for (int round = 0; round < scaled(ends); ++round) {
            const std::unique_ptr<program> p = make({.buggy = false, .forced = forced_too && round % 2 == 0});
            rt.go({.name = "main"}, [&p] { p->run(); });
            if (round == 0) expect_no_leaks(rt);  // while it runs
            rt.drain();
            p->check();
            const stats_snapshot s = rt.stats();
            EXPECT_EQ(s.live, 0U);
            if (::testing::Test::HasFailure()) return;
        }
    }
}

}  // namespace weft::test
