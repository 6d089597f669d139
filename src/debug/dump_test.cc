// dump_test.cc: dumps of Gs in every state; a dump disturbs none of them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "os/os.h"
#include "sched/current.h"
#include "sched/scheduler.h"
#include "support/build.h"
#include "support/captured.h"
#include "support/crossroads.h"
#include "support/eventually.h"
#include "support/form.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using std::chrono::steady_clock;

TEST(Form, MatchesOnlyTextsOfThatForm) {
    EXPECT_TRUE(has_form("P12 at 0x1f: what ever", "P%d at 0x%x: %s"));
    EXPECT_TRUE(has_form("P1 at 0x1f: ", "P%d at 0x%x: %s"));
    EXPECT_FALSE(has_form("P at 0x1f: x", "P%d at 0x%x: %s"));
    EXPECT_FALSE(has_form("P1 at 0xg: x", "P%d at 0x%x: %s"));
    EXPECT_FALSE(has_form("P1 at 0x1f: x!", "P%d at 0x%x: x"));
}

bool is_well_formed(std::string_view line) {
    static constexpr std::string_view forms[] = {
        "",
        "weft: runtime \"%s\", %d Ps (%d idle), %d threads (%d idle)",
        "green thread %d [%s, P%d]:",
        "green thread %d \"%s\" [%s, P%d]:",
        "green thread %d [%s, P%d, %s]:",
        "green thread %d \"%s\" [%s, P%d, %s]:",
        "%d green threads [%s]:",
        "%d green threads \"%s\" [%s]:",
        "    (running; its stack cannot be read now)",
        "    (running on thread %d, with P%d)",
        "    (running on thread %d, without its P%d)",
        "    (in a call on thread %d, with P%d)",
        "    (in a call on thread %d, without its P%d)",
        "    (its stack: %s)",
        "    (not started)",
        "    #%d%s %s (%s+0x%x)",
        "    #%d%s 0x%x",
        "    … in %s",
        "    … parked in %s",
        "    … the same %d more times",
        "    …",
        "    ids %d%s",
        "    labels %s",
        "    (different labels)",
        "    entry %s (%s+0x%x)",
        "    entry %s",
        "    started by green thread %d at %s:%d, in %s",
        "    started by several green threads at %s:%d, in %s",
        "    started by a plain thread at %s:%d, in %s",
        "    which was started by green thread %d at %s:%d, in %s",
        "    which was started by a plain thread at %s:%d, in %s",
        "stack use by the place that starts the green threads, deepest first:",
        "    %d KiB touched, %d bytes while waiting, in %d measurements: %s:%d, in %s",
        "    (%d more)",
    };
    return std::any_of(std::begin(forms), std::end(forms),
                       [line](std::string_view form) { return has_form(line, form); });
}

std::vector<std::string> section_of(const std::string& dump, std::string_view name) {
    std::vector<std::string> section;
    const std::string quoted = '"' + std::string(name) + '"';
    for (const std::string& line : lines_of(dump)) {
        if (section.empty() && (line.find("green thread") == line.npos || line.find(quoted) == line.npos)) continue;
        if (line.empty()) break;
        section.push_back(line);
    }
    return section;
}

bool has_line(const std::vector<std::string>& lines, std::string_view wanted) {
    for (const std::string& line : lines) {
        if (line.find(wanted) != line.npos) return true;
    }
    return false;
}

// One runtime with one P, so nothing changes while its only running G looks.
class Dump : public ::testing::Test {
protected:
    std::string dump() {
        const std::string text = written_by([](int fd) { weft::dump(fd); });
        for (const std::string& line : lines_of(text)) EXPECT_TRUE(is_well_formed(line)) << line;
        return text;
    }

    std::string headline(std::string_view name) {
        const std::vector<std::string> section = section_of(dump(), name);
        return section.empty() ? "" : section.front();
    }

    void expect_waiting(const std::string& name, const std::string& reason) {
        const std::string line = headline(name);
        // %s: ms, or s on a machine with other work
        EXPECT_TRUE(has_form(line, "green thread %d \"" + name + "\" [" + reason + ", %d %s, P0]:"))
            << name << ": " << line;
    }

    // Returns once f has parked.
    template <typename F>
    void park(const char* name, F&& f) {
        const uint64_t before = stats().parks;
        all_.go({.name = name}, std::forward<F>(f));
        eventually([&] { return stats().parks > before; });
    }

    static weft::detail::G* find(std::string_view name) {
        weft::detail::G* found = nullptr;
        weft::detail::current_m()->home->gs.for_each([&](weft::detail::G& g) {
            if (name == g.name_or_empty()) found = &g;
        });
        return found;
    }

    runtime rt_{{.procs = 1, .name = "observed"}};
    wait_group all_;
};

TEST_F(Dump, BeginsWithTheRuntime) {
    rt_.run([&] {
        EXPECT_TRUE(has_form(lines_of(dump())[0], "weft: runtime \"observed\", 1 Ps (0 idle), 1 threads (0 idle)"));
    });
}

TEST_F(Dump, NamesWhatEachGWaitsFor) {
    rt_.run([&] {
        const chan<int> c;
        const chan<int> full(1);
        full.send(1);
        mutex m;
        m.lock();
        wait_group group;
        group.add();
        auto pending = async({.name = "pending"}, [&] { c.recv(); });
        park("receiver", [&] { c.recv(); });
        park("bounded receiver", [&] { (void)c.recv_for(std::chrono::hours(1)); });
        park("sender", [&] { full.send(2); });
        park("locker", [&] {
            m.lock();
            m.unlock();
        });
        park("joiner", [&] { group.wait(); });
        park("getter", [&] { pending.wait(); });
        std::stop_source awake;
        park("sleeper", [&] {
            EXPECT_THROW(with_stop_token(awake.get_token(), [] { sleep_for(std::chrono::hours(1)); }), cancelled);
        });
        go({.name = "nil receiver"}, [] { chan<int>::nil().recv(); });
        go({.name = "nil sender"}, [] { chan<int>::nil().send(1); });
        eventually([] { return find("nil sender")->state.load() == weft::detail::g_state::waiting; });

        expect_waiting("receiver", "chan receive");
        expect_waiting("bounded receiver", "chan receive");
        expect_waiting("sender", "chan send");
        expect_waiting("locker", "mutex lock");
        expect_waiting("joiner", "wait group");
        expect_waiting("getter", "future");
        expect_waiting("sleeper", "sleep");
        expect_waiting("nil receiver", "chan receive (nil chan)");
        expect_waiting("nil sender", "chan send (nil chan)");
        EXPECT_TRUE(has_form(headline("run"), "green thread %d \"run\" [running, P0]:"));

        c.close();
        full.recv();
        m.unlock();
        group.done();
        pending.wait();
        awake.request_stop();
        all_.wait();
    });
}

TEST_F(Dump, ShowsHowLongAGHasWaited) {
    rt_.run([&] {
        const chan<int> c;
        park("patient", [&] { c.recv(); });
        weft::detail::G* g = find("patient");
        ASSERT_NE(g, nullptr);
        constexpr int64_t s = 1'000'000'000;
        const auto since = [&](int64_t ago_ns) {
            g->since_ns = weft::detail::os::monotonic_ns() - ago_ns;
            const std::string line = headline("patient");
            return line.substr(line.find('['));
        };
        EXPECT_EQ(since(7 * s), "[chan receive, 7 s, P0]:");
        EXPECT_EQ(since(59 * s), "[chan receive, 59 s, P0]:");
        EXPECT_EQ(since(60 * s), "[chan receive, 1 minutes, P0]:");
        EXPECT_EQ(since(7200 * s), "[chan receive, 120 minutes, P0]:");
        c.send(1);
        all_.wait();
    });
}

// Not retaken: the dump may take longer than a time slice, and then they would start.
class CalmDump : public Dump {
protected:
    runtime calm_{{.procs = 1, .retake = false, .name = "calm"}};
};

TEST_F(CalmDump, ANewGIsShownAsRunnableAndNotStarted) {
    calm_.run([&] {
        all_.go({.name = "fresh"}, [] {});
        const std::vector<std::string> section = section_of(dump(), "fresh");
        ASSERT_GE(section.size(), 2U);
        EXPECT_TRUE(has_form(section[0], "green thread %d \"fresh\" [runnable%s, P%d]:")) << section[0];
        EXPECT_EQ(section[1], "    (not started)");
        all_.wait();
    });
}

TEST_F(CalmDump, AGWithALargerStackIsShownAsNotStarted) {
    calm_.run([&] {
        all_.go({.name = "large", .stack_size = std::size_t{1} << 20}, [] {});
        EXPECT_TRUE(has_line(section_of(dump(), "large"), "(not started)"));
        all_.wait();
    });
}

TEST_F(CalmDump, AGThatHasYieldedIsRunnableWithItsFrames) {
    calm_.run([&] {
        std::atomic<bool> over{false};
        all_.go({.name = "yielding"}, [&] {
            while (!over.load()) weft::yield();
        });
        weft::yield();
        const std::vector<std::string> section = section_of(dump(), "yielding");
        ASSERT_GE(section.size(), 4U);
        EXPECT_TRUE(has_form(section[0], "green thread %d \"yielding\" [runnable%s, P0]:")) << section[0];
        EXPECT_TRUE(has_line(section, "    #0 "));
        over.store(true);
        all_.wait();
    });
}

TEST_F(Dump, ARunningGShowsItsThreadAndTheCallerItsFrames) {
    rt_.run([&] {
        const std::vector<std::string> section = section_of(dump(), "run");
        ASSERT_GE(section.size(), 4U);
        EXPECT_TRUE(has_form(section[1], "    (running on thread %d, with P%d)")) << section[1];
        EXPECT_TRUE(has_line(section, "    #0 "));
    });
}

TEST_F(Dump, AGInABlockingCallShowsItsThreadAndWhereItCalls) {
    rt_.run([&] {
        std::atomic<bool> calls{false};
        std::atomic<bool> over{false};
        all_.go({.name = "calling"}, [&] {
            blocking([&] {
                calls.store(true);
                while (!over.load()) std::this_thread::yield();
            });
        });
        while (!calls.load()) weft::yield();
        const std::vector<std::string> section = section_of(dump(), "calling");
        ASSERT_GE(section.size(), 4U);
        EXPECT_TRUE(has_form(section[0], "green thread %d \"calling\" [in call, P%d]:")) << section[0];
        EXPECT_TRUE(has_form(section[1], "    (in a call on thread %d, with%s")) << section[1];
        EXPECT_TRUE(has_line(section, "    #0 "));
        over.store(true);
        all_.wait();
    });
}

TEST_F(Dump, AGWithoutANameIsANumber) {
    rt_.run([&] {
        const chan<int> c;
        std::atomic<uint64_t> id = 0;
        const uint64_t before = stats().parks;
        all_.go([&] {
            id = this_g::id();
            c.recv();
        });
        eventually([&] { return stats().parks > before; });
        EXPECT_EQ(occurrences(dump(), "green thread " + std::to_string(id.load()) + " [chan receive, "), 1U);
        c.send(1);
        all_.wait();
    });
}

TEST_F(Dump, OmitsAFinishedG) {
    rt_.run([&] {
        all_.go({.name = "gone"}, [] {});
        all_.wait();
        eventually([] { return stats().live == 1; });
        EXPECT_EQ(dump().find("gone"), std::string::npos);
        EXPECT_EQ(occurrences(dump(), "green thread "), 1U) << "the running one";
    });
}

TEST_F(Dump, ShowsTheStarterOfAGAndThePlace) {
    rt_.run([&] {
        const chan<int> c;
        const int line = __LINE__ + 1;
        all_.go({.name = "child"}, [&] { c.recv(); });
        const std::vector<std::string> section = section_of(dump(), "child");
        const std::string place = "dump_test.cc:" + std::to_string(line) + ", in ";
        EXPECT_TRUE(has_line(section, "started by green thread " + std::to_string(this_g::id()) + " at "));
        EXPECT_TRUE(has_line(section, place));
        EXPECT_TRUE(has_line(section_of(dump(), "run"), "    started by a plain thread at "));
        c.send(1);
        all_.wait();
    });
}

// ---- Frames.

[[gnu::noinline]] void wait_inner(const chan<int>& c) {
    c.recv();
    asm volatile("" ::: "memory");  // not a tail call
}

[[gnu::noinline]] void wait_middle(const chan<int>& c) {
    wait_inner(c);
    asm volatile("" ::: "memory");
}

[[gnu::noinline]] void wait_outer(const chan<int>& c) {
    wait_middle(c);
    asm volatile("" ::: "memory");
}

// The emulator cannot start the process that finds names.
#define NEEDS_NAMES() \
    if (emulated) GTEST_SKIP() << "no names under the emulator"

TEST_F(Dump, TheFramesOfAParkedGAreThoseOfTheWaitingFunctions) {
    NEEDS_NAMES();
    rt_.run([&] {
        const chan<int> c;
        park("waiting", [&] { wait_outer(c); });
        const std::vector<std::string> section = section_of(dump(), "waiting");
        EXPECT_TRUE(has_line(section, "    #0  weft::test::(anonymous namespace)::wait_inner(weft::chan<int> const&)"));
        EXPECT_TRUE(
            has_line(section, "    #1  weft::test::(anonymous namespace)::wait_middle(weft::chan<int> const&)"));
        EXPECT_TRUE(has_line(section, "    #2  weft::test::(anonymous namespace)::wait_outer(weft::chan<int> const&)"));
        for (const std::string& line : section) {
            const bool is_frame = line.rfind("    #", 0) == 0;
            EXPECT_FALSE(is_frame && line.find("  weft::detail::") != line.npos) << line;
            EXPECT_FALSE(is_frame && line.find("run_context") != line.npos) << line;
        }
        c.send(1);
        all_.wait();
    });
}

[[gnu::noinline]] void wait_deep(int depth, const chan<int>& c) {
    if (depth == 0) {
        c.recv();
    } else {
        wait_deep(depth - 1, c);
    }
    asm volatile("" ::: "memory");
}

TEST_F(Dump, TruncatesADeepStackWithAnEllipsis) {
    rt_.run([&] {
        const chan<int> c;
        park("deep", [&] { wait_deep(200, c); });
        const std::vector<std::string> section = section_of(dump(), "deep");
        EXPECT_TRUE(has_line(section, "    … the same "));
        EXPECT_EQ(std::count(section.begin(), section.end(), "    …"), 1);
        c.send(1);
        all_.wait();
    });
}

TEST_F(Dump, OmitsTheEntryOfAClosureWhichIsAFunctionOfTheRuntime) {
    NEEDS_NAMES();
    rt_.run([&] {
        all_.go({.name = "entered"}, [] {});
        EXPECT_FALSE(has_line(section_of(dump(), "entered"), "entry"));
        all_.wait();
    });
}

class DumpGroups : public Dump {
protected:
    static constexpr int waiters = 20;

    // waiters green threads at one place, and one at another.
    void park_all(const chan<int>& c) {
        park("alone", [&] { c.recv(); });
        for (int i = 0; i < waiters; ++i) park("same", [&] { c.recv(); });
    }

    void end_all(const chan<int>& c) {
        c.close();
        all_.wait();
    }
};

TEST_F(DumpGroups, GreenThreadsThatWaitAtTheSamePlaceAreOneEntry) {
    rt_.run([&] {
        const chan<int> c;
        park_all(c);
        const std::string text = dump();
        EXPECT_EQ(occurrences(text, "20 green threads \"same\" [chan receive, "), 1U) << text;
        EXPECT_EQ(occurrences(text, "green thread "), 2U + occurrences(text, "by green thread ")) << "alone, and run";
        EXPECT_TRUE(has_line(section_of(text, "same"), " and 12 more"));
        EXPECT_LT(text.find("20 green threads"), text.find("\"alone\"")) << "the largest group comes first";
        end_all(c);
    });
}

TEST_F(DumpGroups, UngroupedEachIsAnEntry) {
    rt_.run([&] {
        const chan<int> c;
        park_all(c);
        const std::string text = written_by([](int fd) { weft::dump(fd, {.grouped = false}); });
        EXPECT_EQ(occurrences(text, " \"same\" [chan receive, "), std::size_t{waiters});
        end_all(c);
    });
}

TEST_F(DumpGroups, TheFoldedFormHasALinePerGroup) {
    rt_.run([&] {
        const chan<int> c;
        park_all(c);
        const std::string text = written_by([](int fd) { weft::dump(fd, {.form = dump_form::folded}); });
        const std::vector<std::string> lines = lines_of(text);
        EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
            return has_form(line, "started at %sdump_test.cc:%d;%s[chan receive] 20");
        })) << text;
        for (const std::string& line : lines) EXPECT_TRUE(has_form(line, "started at %s:%d%s] %d")) << line;
        end_all(c);
    });
}

TEST_F(DumpGroups, TheJsonFormQuotesWhatItMust) {
    rt_.run([&] {
        const chan<int> c;
        park("a\"b\\c\nd\u20ac\xe2\x82", [&] { c.recv(); });
        const std::string text = written_by([](int fd) { weft::dump(fd, {.form = dump_form::json}); });
        EXPECT_EQ(text.rfind("{\"format\":\"weft.dump/1\",\"runtime\":\"observed\",", 0), 0U) << text;
        EXPECT_NE(text.find("\"name\":\"a\\\"b\\\\c\\u000ad\u20ac\\ufffd\\ufffd\""), text.npos) << text;
        EXPECT_NE(text.find("\"state\":\"waiting\",\"reason\":\"chan receive\""), text.npos) << text;
        end_all(c);
    });
}

TEST_F(DumpGroups, NamesTheChainOfStarters) {
    rt_.run([&] {
        const chan<int> c;
        const uint64_t before = stats().parks;
        all_.go({.name = "parent"}, [&] {
            all_.go({.name = "child"}, [&] { c.recv(); });
            c.recv();
        });
        eventually([&] { return stats().parks >= before + 2; });
        const std::vector<std::string> section = section_of(dump(), "child");
        std::size_t chain = 0;
        for (const std::string& line : section) chain += line.rfind("    which was started by ", 0) == 0 ? 1 : 0;
        EXPECT_EQ(chain, 2U) << "its parent by run, and run by a plain thread";
        end_all(c);
    });
}

TEST_F(Dump, MarksAPinnedG) {
    rt_.run([&] {
        const chan<int> gate;
        all_.go({.name = "bound"}, [gate] {
            const pin here;
            gate.recv();
        });
        test::eventually(
            [&] { return has_form(headline("bound"), "green thread %d \"bound\" [chan receive, %s, P0, pinned]:"); });
        gate.close();
        all_.wait();
    });
}

TEST_F(Dump, ShowsEveryClassExceptNormal) {
    rt_.run([&] {
        const chan<int> gate;
        for (const auto& [name, p] : {std::pair{"first", priority::high}, {"last", priority::low}}) {
            all_.go({.name = name, .priority = p}, [gate] { gate.recv(); });
        }
        test::eventually(
            [&] { return has_form(headline("first"), "green thread %d \"first\" [chan receive, %s, P0, high]:"); });
        test::eventually(
            [&] { return has_form(headline("last"), "green thread %d \"last\" [chan receive, %s, P0, low]:"); });
        gate.close();
        all_.wait();
    });
}

// ---- The runtime that is dumped.

TEST(DumpOf, AStoppedRuntimeIsEmpty) {
    runtime rt({.procs = 1});
    rt.abandon();
    EXPECT_EQ(written_by([&](int fd) { rt.dump(fd); }), "");
}

TEST(DumpOf, AProcessWithoutARuntimeIsOneLine) {
    EXPECT_EQ(written_by([](int fd) { weft::dump(fd); }),
              "weft: no runtime has been started, so there is nothing to dump\n");
}

TEST(DumpOf, APlainThreadShowsTheRuntimeOfMain) {
    const int code = weft::main({.procs = 2}, [] {
        std::string text;
        std::thread plain([&] { text = written_by([](int fd) { weft::dump(fd); }); });
        plain.join();
        return section_of(text, "main").empty() ? 1 : 0;
    });
    EXPECT_EQ(code, 0);
}

TEST(DumpOf, IgnoresAClosedDescriptor) {
    runtime rt({.procs = 1});
    rt.run([] { weft::dump(-1); });
}

// ---- Dumps during activity.

TEST(DumpUnderway, EveryLineIsWellFormedWhileAThousandGsRunAndParkAndEnd) {
    const int gs = scaled(1000);
    runtime rt({.procs = 4, .name = "busy"});
    std::atomic<bool> over{false};
    std::atomic<int64_t> rounds{0};
    auto everything = rt.async([&] {
        const crossroads place;
        wait_group all;
        for (int i = 0; i < gs; ++i) {
            all.go({.name = "worker"}, [&, i] {
                for (int n = i; !over.load(); ++n) {
                    rounds.fetch_add(1, std::memory_order_relaxed);
                    switch (n % 4) {
                        case 0:
                            place.cross();
                            break;
                        case 1:
                            weft::yield();
                            break;
                        case 2: {
                            // Gs that run to completion and reuse one stack.
                            wait_group children;
                            for (int k = 0; k < 8; ++k) children.go([] {});
                            children.wait();
                            break;
                        }
                        default: {
                            wait_group child;
                            child.go({.name = "child"}, [&place] { place.cross(); });
                            child.wait();
                        }
                    }
                }
            });
        }
        all.wait();
    });

    int dumps = 0;
    std::size_t sections = 0;
    int shown = 0;
    const auto end = steady_clock::now() + std::chrono::seconds(1);
    while (steady_clock::now() < end || dumps < 5) {
        const std::string text = written_by([&](int fd) { rt.dump(fd, {.grouped = dumps % 2 == 0}); });
        for (const std::string& line : lines_of(text)) {
            sections += line.rfind("green thread ", 0) == 0;
            if (!is_well_formed(line) && ++shown <= 10) ADD_FAILURE() << "dump " << dumps << ": " << line;
        }
        ++dumps;
    }
    over.store(true);
    everything.wait();
    EXPECT_GT(rounds.load(), 0);
    EXPECT_GT(sections, static_cast<std::size_t>(gs));
    RecordProperty("dumps", dumps);
    rt.drain();
    EXPECT_EQ(rt.stats().live, 0U);
}

}  // namespace
}  // namespace weft::test
