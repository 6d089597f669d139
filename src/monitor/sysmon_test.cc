// sysmon_test.cc: a call of the monitor is never lost, whatever it is doing at that moment.
#include "monitor/sysmon.h"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/weft.h>

#include "os/os.h"
#include "sched/current.h"
#include "sched/scheduler.h"
#include "support/environment.h"
#include "support/eventually.h"

namespace weft::detail {
namespace {

using test::eventually;

class Sysmon : private test::calm, public ::testing::Test {
protected:
    // A scan that gives memory back would hide one that is lost.
    Sysmon()
        : rt_({.procs = 1, .memory_idle = runtime_options::keep_memory}),
          s_(rt_.run([] { return current_m()->home; })) {}

    [[nodiscard]] uint64_t scans() const { return s_->sysmon.count.scans.load(relaxed_hint); }

    // Until it sleeps and is not about to scan for another reason.
    void wait_until_dormant() {
        eventually([this] {
            const idle_guard held(s_->idle);
            return s_->idle.monitor.dormant;
        });
        os::sleep_ns(monitor_pace::soon_ns + monitor_pace::soon_ns / 2);  // called sooner again, it would stay active
    }

    // The first scan may not see what the second call is about.
    void call_during_a_scan() {
        wait_until_dormant();
        uint64_t before = scans();
        s_->sysmon.scan_soon();
        for (const uint64_t none = before; before == none;) before = scans();
        s_->sysmon.scan_soon();
        eventually([&] { return scans() > before; });
    }

    runtime rt_;
    scheduler* s_;
};

TEST_F(Sysmon, RescansForACallThatBeginsDuringItsScan) {
    for (int i = 0; i < 50; ++i) call_during_a_scan();
}

// Only the M that runs could poll, so the monitor is called for that again and again.
TEST_F(Sysmon, ScansRarelyWhilePolledRequestsArrive) {
    net::tcp_listener listener(net::endpoint::loopback(0));
    auto client = net::tcp_stream::connect(listener.local_endpoint());
    auto server = listener.accept();
    rt_.go([s = std::move(server)]() mutable {
        char b[1];
        while (s.read_some(b) != 0) s.write_all(b);
    });
    const auto ask_for = [&](int64_t time_ns) {
        const int64_t end_ns = os::monotonic_ns() + time_ns;
        int answered = 0;
        for (; os::monotonic_ns() < end_ns; ++answered) {
            char b[1] = {'x'};
            client.write_all(b);
            EXPECT_EQ(client.read_some(b), 1U);
            os::sleep_ns(500'000);
        }
        return answered;
    };
    EXPECT_GT(ask_for(100'000'000), 0);  // until it has been called, and was dormant in between
    const uint64_t before = scans();
    const int64_t begin_ns = os::monotonic_ns();
    EXPECT_GT(ask_for(300'000'000), 0);
    const auto periods = static_cast<uint64_t>((os::monotonic_ns() - begin_ns) / netpoll::stale_ns);
    EXPECT_LE(scans() - before, 3 * periods);
    client.close();
}

}  // namespace
}  // namespace weft::detail
