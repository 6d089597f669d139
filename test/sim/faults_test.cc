// faults_test.cc: plans of faults, written and drawn.
#include <chrono>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/sim/faults.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "sim/check.h"

namespace weft {
namespace {

using test::check;

using namespace std::chrono_literals;
using net::endpoint;
using sim::fault_kind;
using sim::verdict;

TEST(FaultPlan, HappensAtItsTimes) {
    const sim::report r = sim::explore({.schedules = 100, .lateness = 0ns}, [] {
        const sim::network net;
        const sim::host a = net.add_host("a");
        const sim::host b = net.add_host("b");
        int restarts = 0;
        sim::run_faults({{10s, fault_kind::crash, "a", {}},
                         {20s, fault_kind::restart, "a", {}},
                         {30s, fault_kind::partition, "b", "localhost"},
                         {40s, fault_kind::heal, {}, {}}},
                        [&](sim::host h) {
                            check(h == a, "another host");
                            ++restarts;
                        });
        std::error_code ec;
        const auto refused_by = [&](const sim::host& h) {
            const auto begin = std::chrono::steady_clock::now();
            const net::tcp_stream s = net::tcp_stream::connect(h.address().with_port(80), ec);
            check(ec == std::errc::connection_refused, "another end");
            return std::chrono::steady_clock::now() - begin;
        };
        check(refused_by(a) == 0s, "no answer at the start");
        sleep_for(11s);
        check(!a.is_up() && refused_by(a) >= 9s, "it answers while it is down");
        check(a.is_up() && restarts == 1, "no restart");
        sleep_for(31s - (std::chrono::steady_clock::now().time_since_epoch() % 100s));
        check(refused_by(b) >= 8s, "it answers through a partition");
    });
    EXPECT_EQ(r.result, verdict::passed) << r.text();
}

TEST(FaultPlan, IsRefusedBeforeAnythingHappens) {
    const sim::report r = sim::explore({.schedules = 1}, [] {
        try {
            sim::run_faults({{1s, fault_kind::crash, "missing", {}}});
            check(false, "accepted");
        } catch (const std::invalid_argument&) {}
    });
    EXPECT_EQ(r.result, verdict::passed) << r.text();
}

TEST(FaultPlan, IsDrawnByTheSchedule) {
    std::set<std::string> plans;
    const sim::report r = sim::explore({.schedules = 1000}, [&] {
        const sim::fault_plan plan = sim::random_faults({"a", "b", "c"}, {.span = 60s, .most = 3});
        plans.insert(sim::to_text(plan));
        int down = 0;
        bool is_cut = false;
        auto before = 0ns;
        for (const sim::fault& f : plan) {
            check(f.at >= before && f.at <= 60s, "not in its order");
            before = f.at;
            check(f.host != f.other || f.host.empty(), "a partition of one host");
            if (f.what == fault_kind::crash) ++down;
            if (f.what == fault_kind::restart) --down;
            if (f.what == fault_kind::partition || f.what == fault_kind::partition_one_way) is_cut = true;
            if (f.what == fault_kind::heal) is_cut = false;
        }
        check(down == 0 && !is_cut, "something is left broken");
    });
    EXPECT_EQ(r.result, verdict::passed) << r.text();
    EXPECT_TRUE(plans.contains(""));
    EXPECT_GT(plans.size(), 500U);
}

TEST(FaultPlan, IsShortenedToTheFaultThatMatters) {
    std::string last;
    const sim::report r = sim::explore({.schedules = 1000}, [&] {
        const sim::fault_plan plan = sim::random_faults({"a", "b", "c"}, {.most = 6});
        last = sim::to_text(plan);
        for (const sim::fault& f : plan) check(f.what != fault_kind::crash || f.host != "c", "c crashes");
    });
    EXPECT_EQ(r.result, verdict::failed);
    EXPECT_EQ(last, "0 ms: crash c\n937 ms: restart c\n") << r.text();
}

}  // namespace
}  // namespace weft
