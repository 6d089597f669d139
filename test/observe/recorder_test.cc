// recorder_test.cc: what a recorder sees, and that it may begin, end and copy at any time.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/observe/recorder.h>
#include <weft/run.h>
#include <weft/trace.h>
#include <weft/weft.h>

#include "support/captured.h"
#include "support/eventually.h"
#include "support/file_text.h"
#include "support/form.h"
#include "support/scale.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using observe::recorder;
using observe::recording;

class Recorder : public ::testing::Test {
protected:
    std::vector<std::string> text_of(const recording& r) {
        const std::string path = folder_.path() + "/text";
        r.write_text(path);
        return lines_of(file_text(path));
    }

    std::string path(const char* name) { return folder_.path() + "/" + name; }

private:
    temp_folder folder_;
};

bool has_line(const std::vector<std::string>& lines, const std::string& form) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return has_form(line, "%s us  M%s  " + form); });
}

std::size_t count_of(const std::vector<std::string>& lines, std::string_view part) {
    return static_cast<std::size_t>(std::count_if(
        lines.begin(), lines.end(), [&](const std::string& line) { return line.find(part) != std::string::npos; }));
}

// Green threads that wake each other on all processors, and sometimes end.
void keep_busy(runtime& rt, const std::atomic<bool>& over) {
    for (int i = 0; i < 8; ++i) {
        rt.go([&over] {
            while (!over) {
                const chan<int> c(1);
                wait_group all;
                for (int k = 0; k < 4; ++k) {
                    all.go([c, k] {
                        const trace::region working("work");
                        if (k % 2 == 0)
                            c.send(k);
                        else
                            c.recv();
                        trace::log("done");
                    });
                }
                all.wait();
                yield();
            }
        });
    }
}

TEST_F(Recorder, SeesAGreenThreadFromItsStartToItsEnd) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    rt.run([] {
        const chan<int> c;
        go({.name = "receiver"}, [c] { c.recv(); });
        yield();
        c.send(1);
        yield();
    });
    const std::vector<std::string> lines = text_of(r.snapshot());
    EXPECT_TRUE(has_line(lines, "G %d run wakes G %d receiver"));
    EXPECT_TRUE(has_line(lines, "G %d receiver runs on P0, after %d ns"));
    EXPECT_TRUE(has_line(lines, "G %d receiver waits: chan receive, after %d ns"));
    EXPECT_TRUE(has_line(lines, "G %d run wakes G %d receiver"));
    EXPECT_TRUE(has_line(lines, "G %d receiver is runnable, after %d ns"));
    EXPECT_TRUE(has_line(lines, "G %d receiver ends, after %d ns"));
    EXPECT_EQ(r.snapshot().lost(), 0U);
}

TEST_F(Recorder, SeesGreenThreadsThatRanBeforeIt) {
    runtime rt({.procs = 1});
    const chan<int> c;
    rt.go({.name = "early"}, [c] { c.recv(); });
    eventually([&] { return rt.stats().waiting == 1; });
    const recorder r(rt);
    c.send(1);
    rt.drain();
    const std::vector<std::string> lines = text_of(r.snapshot());
    EXPECT_GE(count_of(lines, "wakes G 1 early"), 1U);  // a plain thread does
    EXPECT_TRUE(has_line(lines, "G 1 early runs on P0, after %d ns"));
    EXPECT_TRUE(has_line(lines, "G 1 early ends, after %d ns"));
}

TEST_F(Recorder, SeesBlockingCallsAndTimers) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    rt.run([] {
        blocking([] { std::this_thread::sleep_for(1ms); });
        sleep_for(1ms);
    });
    const std::vector<std::string> lines = text_of(r.snapshot());
    EXPECT_TRUE(has_line(lines, "G %d run begins a blocking call, after %d ns"));
    EXPECT_TRUE(has_line(lines, "G %d run waits: sleep, after %d ns"));
    EXPECT_TRUE(has_line(lines, "1 timers have fired"));
    EXPECT_TRUE(has_line(lines, "the runtime wakes G %d run"));
}

TEST_F(Recorder, KeepsRegionsCountersAndMessages) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    rt.run([] {
        EXPECT_TRUE(trace::is_recorded());
        const trace::region outer("outer");
        {
            const trace::region inner("inner");
            trace::counter("queue", 2.5);
        }
        trace::log("a message of more than sixteen characters");
        trace::log("");
        this_g::set_name("a new name");
    });
    rt.drain();  // until it has ended, too
    const std::vector<std::string> lines = text_of(r.snapshot());
    EXPECT_TRUE(has_line(lines, "G %d run begins region outer"));
    EXPECT_TRUE(has_line(lines, "G %d run begins region inner"));
    EXPECT_TRUE(has_line(lines, "G %d run: a message of more than sixteen characters"));
    EXPECT_EQ(count_of(lines, "ends a region"), 2U);
    EXPECT_EQ(count_of(lines, "counter queue is 2.5"), 1U);
    EXPECT_TRUE(has_line(lines, "G %d a new name ends, after %d ns"));
}

TEST_F(Recorder, KeepsLabels) {
    runtime rt({.procs = 1});
    const chan<int> early_may_end;
    rt.go({.name = "early", .labels = {{"user", "anna"}}}, [early_may_end] {
        early_may_end.recv();
        this_g::set_label("user", "bob");
    });
    eventually([&] { return rt.stats().waiting == 1; });
    const recorder r(rt);
    early_may_end.send(1);
    rt.run([] {
        this_g::set_label("request", "17");
        wait_group all;
        all.go({.labels = {{"part", "a\nb"}}}, [] { sleep_for(1ms); });  // and inherits the request
        all.wait();
        this_g::set_labels({});
    });
    rt.drain();
    const recording made = r.snapshot();
    made.write(path("labels"));
    for (const recording& all : {made, recording::read(path("labels"))}) {
        const std::vector<std::string> lines = text_of(all);
        EXPECT_TRUE(has_line(lines, "G %d early has the labels user=bob"));
        EXPECT_TRUE(has_line(lines, "G %d run has the labels request=17"));
        EXPECT_TRUE(has_line(lines, "G %d has the labels request=17, part=a?b"));
        EXPECT_TRUE(has_line(lines, "G %d run has no labels"));
        const std::vector<std::string> summary = lines_of(all.summary());
        const auto row = [&](std::string_view label) {
            return std::find_if(summary.begin(), summary.end(), [&](const std::string& line) {
                return line.find("  " + std::string(label) + " ") == 0;
            });
        };
        ASSERT_NE(row("user=anna"), summary.end()) << all.summary();  // it waited with that one
        ASSERT_NE(row("user=bob"), summary.end()) << all.summary();
        ASSERT_NE(row("request=17"), summary.end()) << all.summary();
        EXPECT_TRUE(has_form(*row("request=17"), "  request=17 %s 2 %s wait group %s")) << *row("request=17");
        EXPECT_TRUE(has_form(*row("part=a?b"), "  part=a?b %s 1 %s sleep %s")) << *row("part=a?b");
    }
}

TEST_F(Recorder, MayShowSomeGreenThreadsOnly) {
    runtime rt({.procs = 1});
    const recorder all(rt);
    const recorder only_anna(rt, {.only = {.label = "user=anna"}});
    rt.run([] {
        const chan<int> c;
        go({.name = "hers", .labels = {{"user", "anna"}}}, [c] {
            c.recv();
            const trace::region serving("serve");
            trace::counter("served", 1);
        });
        go({.name = "his", .labels = {{"user", "bob"}}}, [] {
            const trace::region serving("other");
            trace::counter("served", 2);
        });
        yield();
        c.send(1);
    });
    rt.drain();
    const auto expect_hers = [&](const recording& r) {
        const std::vector<std::string> lines = text_of(r);
        EXPECT_TRUE(has_line(lines, "G %d wakes G %d hers"));  // its starter has no name here
        EXPECT_TRUE(has_line(lines, "G %d hers begins region serve"));
        EXPECT_TRUE(has_line(lines, "counter served is 1"));
        EXPECT_TRUE(has_line(lines, "takes P0"));
        EXPECT_EQ(count_of(lines, "his"), 0U);
        EXPECT_EQ(count_of(lines, "other"), 0U);
        EXPECT_EQ(count_of(lines, "served is 2"), 0U);
        EXPECT_NE(r.summary().find("left out"), std::string::npos);
        // What woke it is not taken for a green thread that ran all the time.
        EXPECT_NE(r.summary().find("events of 2 green threads"), std::string::npos) << r.summary();
        EXPECT_EQ(r.summary().find("(unknown)  "), r.summary().rfind("(unknown)  "));
    };
    expect_hers(only_anna.snapshot());
    expect_hers(all.snapshot().only({.label = "user=anna"}));
    expect_hers(all.snapshot().only({.name = "hers", .label = "user"}));
    all.snapshot().only({.name = "hers"}).write(path("some"));
    expect_hers(recording::read(path("some")));
    EXPECT_EQ(count_of(text_of(all.snapshot().only({.name = "his", .label = "user=anna"})), "his"), 0U);
    const std::vector<std::string> here = text_of(all.snapshot().only({.started = "recorder_test.cc"}));
    EXPECT_GT(count_of(here, "his"), 0U);
    EXPECT_EQ(count_of(text_of(all.snapshot().only({.started = "recorder_test.cc:1"})), "his"), 0U);
    EXPECT_GT(count_of(text_of(all.snapshot()), "his"), 0U);
}

// A deadline may end a wait before its green thread has parked; the M on which it parked then makes
// it runnable, and runs another one at that moment.
TEST_F(Recorder, DoesNotTakeTheNextGreenThreadForTheOneThatEndedAWait) {
    runtime rt({.procs = 2});
    const recorder r(rt);
    std::atomic<bool> over{false};
    for (int i = 0; i < 2; ++i) {
        rt.go({.name = "waits"}, [&over] {
            const chan<int> never;
            for (int k = 0; k < scaled(20'000); ++k)
                static_cast<void>(never.recv_for(std::chrono::nanoseconds(k % 64)));
            over = true;
        });
        rt.go({.name = "yields"}, [&over] {
            while (!over) yield();
        });
    }
    rt.drain();
    const std::vector<std::string> lines = text_of(r.snapshot());
    EXPECT_GT(count_of(lines, "the runtime wakes G"), 100U);
    EXPECT_EQ(count_of(lines, "yields wakes G"), 0U);
}

TEST_F(Recorder, IsNotNeededByAnnotations) {
    EXPECT_FALSE(trace::is_recorded());
    const trace::region in_a_plain_thread("nothing");
    trace::counter("nothing", 1);
    trace::log("nothing");
    runtime rt({.procs = 1});
    rt.run([] {
        EXPECT_FALSE(trace::is_recorded());
        const trace::region nothing("nothing");
        trace::counter("nothing", 1);
        trace::log("nothing");
    });
}

TEST_F(Recorder, DropsTheOldestEvents) {
    runtime rt({.procs = 1});
    const recorder r(rt, {.bytes_per_thread = 1});  // as few as there may be
    rt.run([] {
        for (int i = 0; i < 10'000; ++i) yield();
        for (int i = 0; i < 10'000; ++i) {
            const trace::region many("many");
        }
        const trace::region last("last");
    });
    const recording all = r.snapshot();
    EXPECT_GT(all.lost(), 15'000U);
    EXPECT_LT(all.events(), 1000U);
    EXPECT_TRUE(has_line(text_of(all), "G %d run begins region last"));
}

TEST_F(Recorder, CopiesAWindow) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    rt.run([] { const trace::region early("early"); });
    std::this_thread::sleep_for(100ms);
    const auto between = std::chrono::steady_clock::now();
    rt.run([] { const trace::region late("late"); });
    const auto window = std::chrono::steady_clock::now() - between + 50ms;
    const recording part = r.snapshot(window);
    const recording all = r.snapshot();
    EXPECT_EQ(count_of(text_of(all), "region early"), 1U);
    EXPECT_EQ(count_of(text_of(part), "region early"), 0U);
    EXPECT_EQ(count_of(text_of(part), "region late"), 1U);
    EXPECT_LE(part.span(), window + 20ms);  // events go on while they are copied
    EXPECT_GE(all.span(), 100ms);
}

TEST_F(Recorder, ThereMayBeSeveralAndEachSeesItsTime) {
    runtime rt({.procs = 1});
    const recorder first(rt);
    rt.run([] { const trace::region early("early"); });
    std::vector<std::string> lines;
    {
        const recorder second(rt);
        rt.run([] { const trace::region late("late"); });
        lines = text_of(second.snapshot());
    }
    rt.run([] { const trace::region last("last"); });
    EXPECT_EQ(count_of(lines, "region early"), 0U);
    EXPECT_EQ(count_of(lines, "region late"), 1U);
    EXPECT_EQ(count_of(text_of(first.snapshot()), "begins region"), 3U);
}

TEST_F(Recorder, RecordsNothingAfterItsEnd) {
    runtime rt({.procs = 1});
    { const recorder r(rt); }
    rt.run([] {
        EXPECT_FALSE(trace::is_recorded());
        const trace::region between("between");
    });
    const recorder next(rt);
    rt.run([] { const trace::region later("later"); });
    EXPECT_EQ(count_of(text_of(next.snapshot()), "begins region"), 1U);
}

TEST_F(Recorder, OutlivesItsRuntime) {
    std::unique_ptr<recorder> r;
    {
        runtime rt({.procs = 2});
        r = std::make_unique<recorder>(rt);
        rt.run([] { const trace::region only("only"); });
    }
    EXPECT_EQ(count_of(text_of(r->snapshot()), "begins region only"), 1U);
}

// The first OS thread of such a program may have no P when the scheduler stops.
TEST_F(Recorder, AProgramInCMayStopItsSchedulerWhileItIsRecorded) {
    for (int i = 0; i < scaled(20); ++i) {
        ASSERT_EQ(run_scheduler_init(), RUN_OK);
        {
            const recorder r;
            wait_group all;
            for (int k = 0; k < 10; ++k) all.go([] { sleep_for(100us); });
            all.wait();
            EXPECT_GT(r.snapshot().events(), 0U);
        }
        const recorder until_the_end;
        sleep_for(1ms);  // so that the scheduler stops an M that has been asleep
        ASSERT_EQ(run_scheduler_stop(), RUN_OK);
    }
}

TEST_F(Recorder, KnowsThreadsWhoseFirstEventsAreGone) {
    runtime rt({.procs = 2});
    const recorder r(rt, {.bytes_per_thread = 1});
    std::atomic<bool> over{false};
    keep_busy(rt, over);
    eventually([&] { return r.snapshot().lost() > 10'000; });
    eventually([&] {  // until both have been busy lately
        std::set<std::string> threads;
        for (const std::string& line : text_of(r.snapshot())) {
            const std::size_t at = line.find(" us  M");
            if (at != std::string::npos) threads.insert(line.substr(at + 5, 6));
        }
        return threads.size() >= 2;
    });
    over = true;
    rt.drain();
}

TEST_F(Recorder, NamesAGreenThreadThatCameAndWent) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    rt.run([] {
        wait_group all;
        all.go({.name = "brief \"\xff"}, [] {});
        all.wait();
    });
    const std::string file = path("json");
    r.snapshot().write_chrome_json(file);
    EXPECT_NE(file_text(file).find(R"("G 2 brief \"\ufffd")"), std::string::npos);
}

TEST_F(Recorder, NeedsARuntimeThatRuns) {
    runtime rt({.procs = 1});
    rt.abandon();
    EXPECT_THROW(recorder{rt}, std::logic_error);
}

TEST_F(Recorder, SaysWhichFileItCannotWrite) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    try {
        r.snapshot().write_perfetto(path("missing/folder"));
        FAIL() << "nothing was thrown";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
        EXPECT_NE(std::string_view(e.what()).find("missing/folder"), std::string_view::npos);
    }
}

TEST_F(Recorder, BeginsCopiesAndEndsWhileGreenThreadsRun) {
    runtime rt({.procs = 4});
    std::atomic<bool> over{false};
    keep_busy(rt, over);
    for (int i = 0; i < scaled(20); ++i) {
        const recorder r(rt, {.bytes_per_thread = std::size_t{24} * 1024});
        static_cast<void>(r.snapshot().events());
        eventually([&] { return r.snapshot().events() > 100; });
    }
    over = true;
    rt.drain();
}

// For perfetto_check.py and weft_program_test.py, which read the files.
TEST_F(Recorder, WritesFilesForOtherPrograms) {
    const char* to = std::getenv("WEFT_TEST_RECORDING");
    const std::string base = to != nullptr ? to : path("recording");
    runtime rt({.procs = 2});
    const recorder r(rt, {.bytes_per_thread = std::size_t{24} << 20, .stack_every = 7});
    std::atomic<bool> over{false};
    keep_busy(rt, over);
    rt.run([] {
        for (int i = 0; i < 10; ++i) {
            trace::counter("steps", i);
            blocking([] { std::this_thread::sleep_for(100us); });
            sleep_for(100us);
        }
    });
    over = true;
    rt.drain();
    const recording all = r.snapshot();
    all.write_perfetto(base + ".pftrace");
    all.write_chrome_json(base + ".json");
    all.write_text(base + ".txt");
    all.write(base + ".weftrec");
    EXPECT_GT(file_text(base + ".pftrace").size(), 1000U);
    std::ofstream(base + ".events") << all.events() << "\n";
}

}  // namespace
}  // namespace weft::test
