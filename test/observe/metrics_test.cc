// metrics_test.cc: the text of OpenMetrics. openmetrics_check.py reads it with another parser.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <weft/observe/metrics.h>
#include <weft/weft.h>

#include "observe/metrics_text.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Metrics, HaveTheFiguresOfTheRuntime) {
    runtime rt({.procs = 3});
    for (int i = 0; i < 7; ++i) rt.go([] {});
    rt.drain();
    std::ostringstream out;
    observe::write_metrics(out, rt);
    const std::string text = out.str();
    EXPECT_TRUE(has(text, "\nweft_procs 3\n")) << text;
    EXPECT_TRUE(has(text, "\nweft_spawned_total 7\n")) << text;
    EXPECT_TRUE(has(text, "\nweft_finished_total 7\n")) << text;
    EXPECT_TRUE(has(text, "\nweft_live 0\n")) << text;
    EXPECT_TRUE(has(text, "\nweft_proc_queued{p=\"2\"} 0\n")) << text;
    EXPECT_FALSE(has(text, "p=\"3\"")) << text;
    EXPECT_TRUE(text.ends_with("\n# EOF\n"));
}

TEST(Metrics, AreThoseOfTheCaller) {
    runtime rt({.procs = 3});
    const std::string text = rt.run([] {
        std::ostringstream out;
        observe::write_metrics(out);
        return out.str();
    });
    EXPECT_TRUE(has(text, "\nweft_procs 3\n")) << text;
    EXPECT_TRUE(has(text, "\nweft_running 1\n")) << text;
}

TEST(Metrics, TellHowLateTimersFire) {
    runtime rt({.procs = 1});
    EXPECT_TRUE(has(observe::metrics(rt), "\nweft_timer_lateness_seconds_count 0\n"));
    rt.run([] {
        for (int i = 0; i < 3; ++i) sleep_for(1ms);
    });
    EXPECT_TRUE(has(observe::metrics(rt), "\nweft_timer_lateness_seconds_count 3\n")) << observe::metrics(rt);
    rt.run([] {
        go([] { sleep_for(1ms); });
        yield();
        const auto end = std::chrono::steady_clock::now() + 5ms;
        while (std::chrono::steady_clock::now() < end) {}  // the only P fires no timers
    });
    rt.drain();
    const std::string text = observe::metrics(rt);
    EXPECT_TRUE(has(text, "\nweft_timer_lateness_seconds_count 4\n")) << text;
    EXPECT_FALSE(has(text, "\nweft_timer_lateness_seconds_bucket{le=\"0.002097152\"} 4\n")) << text;
}

TEST(Metrics, TellHowLongEventsWaitForAPoll) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    runtime rt({.procs = 1});
    rt.run([&] {
        watched_fd watched(ends[0]);
        const auto round = [&](std::chrono::nanoseconds busy) {
            wait_group done;
            done.add(1);
            go([&] {
                static_cast<void>(watched.wait(fd_events::readable));
                char byte = 0;
                EXPECT_EQ(read(ends[0], &byte, 1), 1);
                done.done();
            });
            yield();  // it waits
            EXPECT_EQ(write(ends[1], "x", 1), 1);
            const auto end = std::chrono::steady_clock::now() + busy;
            while (std::chrono::steady_clock::now() < end) {}  // the only P does not poll
            done.wait();
        };
        round(0ns);
        round(5ms);
    });
    close(ends[0]);
    close(ends[1]);
    const std::string text = observe::metrics(rt);
    const auto count = [&](const std::string& of) {
        const std::string line = "\nweft_poll_delay_seconds_" + of + " ";
        const std::size_t at = text.find(line);
        return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + line.size());
    };
    // At least the second round.
    EXPECT_GT(count("count"), count("bucket{le=\"0.004194304\"}")) << text;
}

TEST(Metrics, HaveAHistogramOfCumulativeBuckets) {
    weft::detail::latencies all;
    latency_histogram& latency = all.scheduling;
    latency.counts[latency_histogram::bucket_of(0)] = 1;
    latency.counts[latency_histogram::bucket_of(1023)] = 2;
    latency.counts[latency_histogram::bucket_of(1024)] = 4;
    latency.counts[latency_histogram::bucket_of(5'000'000)] = 8;
    latency.counts[latency_histogram::buckets - 1] = 16;
    const std::string text = observe::detail::metrics_text({}, all, {});
    const std::string name = "weft_scheduling_latency_seconds";
    EXPECT_TRUE(has(text, name + "_bucket{le=\"0.000001024\"} 3\n")) << text;
    EXPECT_TRUE(has(text, name + "_bucket{le=\"0.000002048\"} 7\n")) << text;
    EXPECT_TRUE(has(text, name + "_bucket{le=\"0.004194304\"} 7\n")) << text;
    EXPECT_TRUE(has(text, name + "_bucket{le=\"0.008388608\"} 15\n")) << text;
    EXPECT_TRUE(has(text, name + "_bucket{le=\"17.179869184\"} 15\n")) << text;
    EXPECT_TRUE(has(text, name + "_bucket{le=\"+Inf\"} 31\n")) << text;
    EXPECT_TRUE(has(text, name + "_count 31\n")) << text;
}

}  // namespace
}  // namespace weft::test
