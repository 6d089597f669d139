// profile_test.cc: what profiles say, and that they may be taken at any time.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/observe/profile.h>
#include <weft/weft.h>

#include "death/death.h"
#include "debug/running_here.h"
#include "observe/pprof_reader.h"
#include "os/cpu_sampling.h"
#include "os/os.h"
#include "os/signals.h"
#include "support/build.h"
#include "support/cpu_time.h"
#include "support/eventually.h"
#include "support/scale.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using observe::cpu_profiler;
using observe::profile;
using std::chrono::nanoseconds;
namespace os = weft::detail::os;

// Computes, without calls, until the calling thread has used that much CPU time. Frames go through
// these functions, each of which does something after its call.
[[gnu::noinline]] unsigned compute(unsigned from) {
    for (int i = 0; i < 1'000'000; ++i) from = from * 1'664'525 + 1'013'904'223;
    asm volatile("" : "+r"(from));
    return from;
}

[[gnu::noinline]] void compute_hot(nanoseconds cpu) {
    const nanoseconds end = cpu_time(CLOCK_THREAD_CPUTIME_ID) + cpu;
    while (cpu_time(CLOCK_THREAD_CPUTIME_ID) < end) compute(1);
    asm volatile("" ::: "memory");
}

[[gnu::noinline]] void compute_cold(nanoseconds cpu) {
    const nanoseconds end = cpu_time(CLOCK_THREAD_CPUTIME_ID) + cpu;
    while (cpu_time(CLOCK_THREAD_CPUTIME_ID) < end) compute(2);
    asm volatile("" ::: "memory");
}

[[gnu::noinline]] void compute_until(const std::atomic<bool>& over) {
    while (!over) compute(3);
    asm volatile("" ::: "memory");
}

[[gnu::noinline]] void call_and_compute(nanoseconds cpu) {
    blocking([cpu] { compute_hot(cpu); });
    asm volatile("" ::: "memory");
}

[[gnu::noinline]] void park_for_value(const chan<int>& c) {
    c.recv();
    asm volatile("" ::: "memory");
}

[[gnu::noinline]] void park_at_latch(latch& l) {
    l.wait();
    asm volatile("" ::: "memory");
}

auto in(std::string_view function) {
    return [function](const read_sample& s) { return s.has(function); };
}

auto labelled(const char* key, const char* value) {
    return [key, value](const read_sample& s) { return s.label(key) == value; };
}

class Profile : public ::testing::Test {
protected:
    void SetUp() override {
        if (emulated) GTEST_SKIP() << "no names under the emulator";
    }
};

class CpuProfile : public Profile {
protected:
    void SetUp() override {
        Profile::SetUp();
        if (built_with_tsan) GTEST_SKIP() << "ThreadSanitizer delays signals";
    }
};

// ---- Green threads.

TEST_F(Profile, GreenThreadsAreCountedByStack) {
    runtime rt({.procs = 2});
    const chan<int> c;
    latch open(1);
    for (int i = 0; i < 7; ++i) rt.go({.name = "receiver"}, [c] { park_for_value(c); });
    for (int i = 0; i < 3; ++i) rt.go({.labels = {{"door", "red"}, {"floor", "2"}}}, [&] { park_at_latch(open); });
    eventually([&] { return rt.stats().waiting == 10; });
    rt.run([&] {
        const read_profile p = read_pprof(observe::goroutine_profile().bytes());
        EXPECT_EQ(p.types, std::vector<std::string>{"goroutine/count"});
        EXPECT_EQ(p.sum(0), 11) << "and this one";
        EXPECT_EQ(p.sum(0, in("park_for_value")), 7);
        EXPECT_EQ(p.sum(0, in("park_at_latch")), 3);
        EXPECT_EQ(p.sum(0, labelled("wait_reason", "chan receive")), 7);
        EXPECT_EQ(p.sum(0, labelled("wait_reason", "latch wait")), 3);
        EXPECT_EQ(p.sum(0, labelled("name", "receiver")), 7);
        EXPECT_EQ(p.sum(0, labelled("floor", "2")), 3);
        EXPECT_EQ(p.sum(0, labelled("state", "waiting")), 10);
        EXPECT_EQ(p.sum(0, labelled("state", "running")), 1);
        for (const read_sample& s : p.samples) {
            if (!s.has("park_")) continue;
            EXPECT_TRUE(s.is_in("weft::")) << "a public function of weft comes first, not " << s.stack.front().function;
            EXPECT_NE(s.stack.front().function.rfind("weft::detail::", 0), 0U) << s.stack.front().function;
            EXPECT_EQ(s.label("started_at").rfind("profile_test.cc:", 0), 0U);
            const read_frame& parked = *std::find_if(s.stack.begin(), s.stack.end(), [](const read_frame& f) {
                return f.function.find("park_") != std::string::npos;
            });
            EXPECT_NE(parked.file.find("profile_test.cc"), std::string::npos);
            EXPECT_GT(parked.line, 0);
        }
    });
    c.close();
    open.count_down();
    rt.drain();
}

TEST_F(Profile, TextsAreValidUtf8) {
    runtime rt({.procs = 1});
    const chan<int> c;
    // A name is cut at 31 bytes: here inside of a character.
    const std::string as(30, 'a');
    const std::string name = as + "\xc3\xa9";
    rt.go({.name = name.c_str(), .labels = {{"tenant", "\xff-\xc3\xa9"}}}, [c] { c.recv(); });
    eventually([&] { return rt.stats().waiting == 1; });
    const read_profile p = read_pprof(observe::goroutine_profile(rt).bytes());
    c.close();
    rt.drain();
    EXPECT_EQ(p.sum(0, labelled("name", (as + "\xef\xbf\xbd").c_str())), 1);
    EXPECT_EQ(p.sum(0, labelled("tenant", "\xef\xbf\xbd-\xc3\xa9")), 1);
}

TEST_F(Profile, GreenThreadsInEveryState) {
    runtime rt({.procs = 1});
    std::atomic<bool> over{false};
    std::atomic<int> begun{0};
    rt.go({.name = "caller"}, [&] {
        blocking([&] {
            ++begun;
            compute_until(over);
        });
    });
    rt.go({.name = "hog"}, [&] {
        ++begun;
        compute_until(over);
    });
    eventually([&] { return begun == 2; });
    read_profile p;
    eventually([&] {  // a thread that gets no CPU does not answer
        p = read_pprof(observe::goroutine_profile(rt).bytes());
        return built_with_tsan || p.sum(0, in("compute")) == 1;
    });
    over = true;
    rt.drain();
    EXPECT_EQ(p.sum(0), 2);
    EXPECT_EQ(p.sum(0, labelled("state", "in call")), 1);
    EXPECT_EQ(p.sum(0, labelled("state", "running")), 1);
}

TEST_F(Profile, GreenThreadsThatHaveNotStarted) {
    runtime rt({.procs = 1});
    rt.run([&] {
        wait_group all;
        for (int i = 0; i < 4; ++i) all.go([] {});
        const read_profile p = read_pprof(observe::goroutine_profile().bytes());
        EXPECT_EQ(p.sum(0, labelled("state", "runnable")), 4);
        for (const read_sample& s : p.samples) EXPECT_FALSE(s.stack.empty());
        all.wait();
    });
}

TEST_F(Profile, NamesThePathAndBuildIdOfTheProgram) {
    runtime rt({.procs = 1});
    const read_profile p = read_pprof(observe::goroutine_profile(rt).bytes());
    ASSERT_FALSE(p.mappings.empty());
    EXPECT_NE(p.mappings[0].path.find("observe_tests"), std::string::npos);
    EXPECT_GE(p.mappings[0].build_id.size(), 16U);
    const auto here = reinterpret_cast<uintptr_t>(&compute_hot);
    EXPECT_TRUE(here >= p.mappings[0].begin && here < p.mappings[0].end);
}

TEST_F(Profile, OfAStoppedRuntimeIsRefused) {
    runtime rt({.procs = 1});
    rt.shutdown(1s);
    EXPECT_THROW(static_cast<void>(observe::goroutine_profile(rt)), std::logic_error);
}

TEST_F(Profile, IsWrittenForItsOwnerOnly) {
    runtime rt({.procs = 1});
    const temp_folder folder;
    const profile p = observe::goroutine_profile(rt);
    p.write(folder / "p.pb");
    struct ::stat file{};
    ASSERT_EQ(::stat((folder / "p.pb").c_str(), &file), 0);
    EXPECT_EQ(static_cast<std::size_t>(file.st_size), p.bytes().size());
    EXPECT_EQ(file.st_mode & 0777U, 0600U);
    try {
        p.write(folder / "missing/p.pb");
        FAIL();
    } catch (const std::system_error& e) {
        EXPECT_NE(std::string(e.what()).find("missing/p.pb"), std::string::npos) << e.what();
    }
}

TEST_F(Profile, MayBeTakenWhileGreenThreadsStartAndEnd) {
    runtime rt({.procs = 4});
    std::atomic<bool> over{false};
    for (int i = 0; i < 8; ++i) {
        rt.go([&over] {
            while (!over) {
                wait_group all;
                for (int k = 0; k < 8; ++k) all.go({.labels = {{"k", "v"}}}, [] { this_g::set_label("k", "w"); });
                all.wait();
            }
        });
    }
    for (int i = 0; i < scaled(5); ++i) EXPECT_GE(read_pprof(observe::goroutine_profile(rt).bytes()).sum(0), 8);
    over = true;
    rt.drain();
}

// ---- CPU time.

TEST_F(CpuProfile, TheHotFunctionHasMostSamples) {
    runtime rt({.procs = 2});
    cpu_profiler profiler;
    rt.go({.name = "hot", .labels = {{"size", "large"}}}, [] { compute_hot(400ms); });
    rt.go({.name = "cold"}, [] { compute_cold(200ms); });
    rt.drain();
    const read_profile p = read_pprof(profiler.stop().bytes());
    EXPECT_EQ(p.types, (std::vector<std::string>{"samples/count", "cpu/nanoseconds"}));
    EXPECT_EQ(p.period_type, "cpu/nanoseconds");
    EXPECT_EQ(p.default_type, "cpu");
    EXPECT_EQ(p.period, 10'000'000);
    const int64_t hot_ns = p.sum(1, in("compute_hot"));
    const int64_t cold_ns = p.sum(1, in("compute_cold"));
    // A new thread is seen after 50 ms, and later on a busy machine.
    EXPECT_GT(hot_ns, 200'000'000);
    EXPECT_LT(hot_ns, 500'000'000);
    EXPECT_GT(cold_ns, 20'000'000);
    EXPECT_LT(cold_ns, 300'000'000);
    EXPECT_GT(p.sum(1, [](const read_sample& s) { return s.is_in("compute("); }), p.sum(1) * 8 / 10);
    EXPECT_EQ(p.sum(1, labelled("name", "hot")), p.sum(1, labelled("size", "large")));
    EXPECT_GE(p.sum(1, labelled("name", "hot")), hot_ns);
    for (const read_sample& s : p.samples) {
        if (!s.has("compute_hot")) continue;
        EXPECT_EQ(s.label("name"), "hot");
        EXPECT_EQ(s.label("started_at").rfind("profile_test.cc:", 0), 0U);
        EXPECT_TRUE(s.label("green_thread").empty()) << "equal samples of different ones are added up";
    }
    ASSERT_FALSE(p.comments.empty());
    EXPECT_NE(p.comments[0].find(" 0 lost"), std::string::npos) << p.comments[0];
}

TEST_F(CpuProfile, LabelsGreenThreadsIfAsked) {
    runtime rt({.procs = 1});
    cpu_profiler profiler({.label_green_threads = true});
    rt.go([] { compute_hot(200ms); });
    rt.drain();
    const read_profile p = read_pprof(profiler.stop().bytes());
    EXPECT_GT(p.sum(1, in("compute_hot")), 0);
    for (const read_sample& s : p.samples) {
        if (!s.has("compute_hot")) continue;
        EXPECT_FALSE(s.label("green_thread").empty());
    }
}

TEST_F(CpuProfile, ABlockingCallBelongsToItsGreenThread) {
    runtime rt({.procs = 1});
    cpu_profiler profiler;
    rt.go({.name = "caller"}, [] { call_and_compute(200ms); });
    rt.drain();
    const read_profile p = read_pprof(profiler.stop().bytes());
    EXPECT_GT(p.sum(1, in("compute_hot")), 50'000'000);
    for (const read_sample& s : p.samples) {
        if (!s.has("compute_hot")) continue;
        EXPECT_EQ(s.label("name"), "caller");
        EXPECT_EQ(s.label("state"), "in call");
        EXPECT_TRUE(s.has("call_and_compute")) << "the frames of the green thread follow";
    }
}

TEST_F(CpuProfile, AGreenThreadThatHasLostItsProcessorIsSeen) {
    runtime rt({.procs = 1});
    cpu_profiler profiler;
    std::atomic<bool> over{false};
    rt.go({.name = "hog"}, [&] { compute_until(over); });
    rt.go([&] {
        const nanoseconds end = cpu_time(CLOCK_PROCESS_CPUTIME_ID) + 200ms;
        while (cpu_time(CLOCK_PROCESS_CPUTIME_ID) < end) sleep_for(1ms);
        over = true;
    });
    rt.drain();
    const read_profile p = read_pprof(profiler.stop().bytes());
    EXPECT_GT(p.sum(1, [](const read_sample& s) { return s.label("name") == "hog" && s.label("processor") == "none"; }),
              0);
}

TEST_F(CpuProfile, SeesThreadsThatStartLater) {
    cpu_profiler profiler;
    std::thread later([] { compute_hot(400ms); });
    later.join();
    const read_profile p = read_pprof(profiler.stop().bytes());
    const auto of_thread = [](const read_sample& s) {
        return s.has("compute_hot") && s.label("runs") == "other thread";
    };
    // The thread has computed for some time before it was found.
    EXPECT_GT(p.sum(1, of_thread), 100'000'000);
    EXPECT_EQ(p.sum(1, of_thread), p.sum(1, in("compute_hot")));
}

TEST_F(CpuProfile, SeesTheThreadThatTakesIt) {
    cpu_profiler profiler({.hz = 500});
    compute_hot(200ms);
    const read_profile p = read_pprof(profiler.stop().bytes());
    EXPECT_EQ(p.period, 2'000'000);
    EXPECT_GT(p.sum(1, in("compute_hot")), 120'000'000);
    EXPECT_LT(p.sum(1, in("compute_hot")), 280'000'000);
}

TEST_F(CpuProfile, OfATimeIsTakenByAGreenThread) {
    runtime rt({.procs = 2});
    std::atomic<bool> over{false};
    rt.go({.name = "busy"}, [&] {
        while (!over) {
            compute(1);
            yield();
        }
    });
    rt.run([&] {
        const read_profile p = read_pprof(observe::cpu_profile(300ms).bytes());
        EXPECT_GE(p.duration_ns, 300'000'000);
        EXPECT_GT(p.time_ns, 1'600'000'000'000'000'000) << "since 1970";
        EXPECT_GT(p.sum(0, labelled("name", "busy")), 0);
    });
    over = true;
    rt.drain();
}

TEST_F(CpuProfile, ASecondOneIsRefused) {
    cpu_profiler first;
    try {
        const cpu_profiler second;
        FAIL();
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::device_or_resource_busy);
        EXPECT_NE(std::string(e.what()).find("a CPU profile is being taken already"), std::string::npos) << e.what();
    }
    static_cast<void>(first.stop());
    cpu_profiler third;
    EXPECT_THROW(static_cast<void>(first.stop()), std::logic_error);
    static_cast<void>(third.stop());
}

TEST_F(CpuProfile, EndsWithItsObject) {
    for (int i = 0; i < 3; ++i) const cpu_profiler profiler;
    static_cast<void>(cpu_profiler().stop());
}

TEST_F(CpuProfile, AFrequencyOutOfRangeIsRefused) {
    EXPECT_THROW(cpu_profiler({.hz = 0}), std::invalid_argument);
    EXPECT_THROW(cpu_profiler({.hz = 1001}), std::invalid_argument);
}

// A handler of the program, which is there before that of weft.
constinit std::atomic<int> urgent{0};

const bool has_handler = [] {
    struct sigaction action{};
    action.sa_handler = [](int) { urgent.fetch_add(1); };
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    return ::sigaction(SIGURG, &action, nullptr) == 0;
}();

TEST_F(CpuProfile, LeavesTheProgramsSignalsAlone) {
    ASSERT_TRUE(has_handler);
    struct sigaction before{};
    ASSERT_EQ(::sigaction(SIGPROF, nullptr, &before), 0);
    cpu_profiler profiler;
    const int seen = urgent;
    compute_hot(100ms);
    EXPECT_EQ(urgent, seen) << "it does not get the signals of timers";
    ASSERT_EQ(::raise(SIGURG), 0);
    EXPECT_EQ(urgent, seen + 1) << "it gets its own";
    EXPECT_GT(read_pprof(profiler.stop().bytes()).sum(0, in("compute_hot")), 4);
    struct sigaction after{};
    ASSERT_EQ(::sigaction(SIGPROF, nullptr, &after), 0);
    EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST_F(CpuProfile, TheChildOfAForkHasNone) {
    cpu_profiler profiler;
    compute_hot(20ms);
    const pid_t child = ::fork();
    if (child == 0) {
        bool ok = true;
        try {
            static_cast<void>(profiler.stop());
            ok = false;
        } catch (const std::logic_error&) {}
        cpu_profiler own;
        compute_hot(50ms);
        ok = ok && read_pprof(own.stop().bytes()).sum(0, in("compute_hot")) > 0;
        ::_exit(ok ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    compute_hot(100ms);
    EXPECT_GT(read_pprof(profiler.stop().bytes()).sum(1, in("compute_hot")), 50'000'000);
}

TEST_F(CpuProfile, MayBeTakenWhileGreenThreadsStartSwitchAndEnd) {
    runtime rt({.procs = 4});
    std::atomic<bool> over{false};
    for (int i = 0; i < 8; ++i) {
        rt.go([&over] {
            while (!over) {
                wait_group all;
                const chan<int> c(1);
                for (int k = 0; k < 8; ++k) {
                    all.go({.name = "short", .labels = {{"k", "v"}}}, [c, k] {
                        this_g::set_label("k", "w");
                        if (k % 2 == 0) {
                            c.send(k);
                        } else {
                            c.recv();
                        }
                        blocking([] {});
                    });
                }
                all.wait();
            }
        });
    }
    int64_t seen = 0;
    const auto deadline = std::chrono::steady_clock::now() + patience();
    for (int i = 0; i < scaled(5) || (seen == 0 && std::chrono::steady_clock::now() < deadline);
         ++i) {  // it may be busy
        const read_profile p = read_pprof(observe::cpu_profile(200ms, {.hz = 1000}).bytes());
        seen += p.sum(0, labelled("k", "w")) + p.sum(0, labelled("k", "v"));
    }
    over = true;
    rt.drain();
    EXPECT_GT(seen, 0);
}

TEST_F(CpuProfile, WithoutItsHandlerIsRefused) {
    static_cast<void>(cpu_profiler().stop());  // installs it
    for (const auto instead : {SIG_DFL, SIG_IGN}) {
        struct sigaction other{};
        other.sa_handler = instead;
        struct sigaction before{};
        ASSERT_EQ(::sigaction(SIGURG, &other, &before), 0);
        try {
            const cpu_profiler profiler;
            ADD_FAILURE() << "it would see nothing";
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::not_supported);
            EXPECT_NE(std::string(e.what()).find("SIGURG"), std::string::npos) << e.what();
        }
        ASSERT_EQ(::sigaction(SIGURG, &before, nullptr), 0);
    }
    cpu_profiler again;
    compute_hot(100ms);
    EXPECT_GT(read_pprof(again.stop().bytes()).sum(0, in("compute_hot")), 0);
}

// They block it, and compute before they wait for it.
TEST_F(CpuProfile, ThreadsThatWaitForTheSignalDoNotGetIt) {
    sigset_t urg;
    sigemptyset(&urg);
    sigaddset(&urg, SIGURG);
    for (const bool waits_first : {false, true}) {
        std::atomic<bool> ready{false};
        std::atomic<bool> may_compute{false};
        std::atomic<int> tid{0};
        int wrong = 0;
        sigset_t before;
        ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &urg, &before), 0);
        std::thread waiter([&] {
            tid = os::current_tid();
            siginfo_t info{};
            // Meanwhile the system says that it does not block the signal.
            if (waits_first && (::sigwaitinfo(&urg, &info) != SIGURG || info.si_code != SI_QUEUE)) ++wrong;
            ready = true;
            eventually([&] { return may_compute.load(); });
            compute_hot(200ms);
            const timespec none{};
            if (::sigtimedwait(&urg, &info, &none) == SIGURG) ++wrong;
        });
        ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
        eventually([&] { return tid != 0; });
        if (waits_first) eventually([&] { return os::may_block_sampling(tid); });
        cpu_profiler profiler;  // it has looked at all threads
        const sigval nothing{};
        if (waits_first) {
            EXPECT_EQ(::pthread_sigqueue(waiter.native_handle(), SIGURG, nothing), 0);
        }
        eventually([&] { return ready.load(); });
        may_compute = true;
        waiter.join();
        static_cast<void>(profiler.stop());
        EXPECT_EQ(wrong, 0) << (waits_first ? "it waited" : "it computed");
    }
}

// The limit of pending signals is also that of timers.
TEST_F(CpuProfile, CountsRefusedThreadsOnce) {
    struct rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_SIGPENDING, &before), 0);
    cpu_profiler profiler;
    struct rlimit none = before;
    none.rlim_cur = 0;
    ASSERT_EQ(::setrlimit(RLIMIT_SIGPENDING, &none), 0);
    std::thread later([] { compute_hot(300ms); });  // several times looked for
    later.join();
    ASSERT_EQ(::setrlimit(RLIMIT_SIGPENDING, &before), 0);
    const read_profile p = read_pprof(profiler.stop().bytes());
    const auto is_about_timers = [](const std::string& c) {
        return c.find("could not get a timer") != std::string::npos;
    };
    const auto found = std::find_if(p.comments.begin(), p.comments.end(), is_about_timers);
    ASSERT_NE(found, p.comments.end());
    EXPECT_EQ(*found, "weft: 1 threads could not get a timer");
}

// A library's code may be unmapped while names are looked up.
TEST(CallTarget, OfUnmappedCodeIsUnknown) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const code = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(code, MAP_FAILED);
    const auto start = reinterpret_cast<uintptr_t>(code);
#if defined(__x86_64__)
    const unsigned char call[] = {0xe8, 0x10, 0, 0, 0};
    std::memcpy(code, call, sizeof(call));
    EXPECT_EQ(detail::target_of_call(start + sizeof(call)), start + sizeof(call) + 0x10);
#endif
    ASSERT_EQ(::munmap(code, page), 0);
    EXPECT_EQ(detail::target_of_call(start + 8), 0U);
}

// ---- In a process without a runtime.

class CpuProfileAlone : public DeathTest {
protected:
    void SetUp() override {
        if (emulated) GTEST_SKIP() << "timers differ under the emulator";
        if (built_with_tsan) GTEST_SKIP() << "ThreadSanitizer delays signals";
    }
};

std::atomic<bool> in_hook{false};
std::atomic<bool> may_leave_hook{false};

void stay_in_hook(const os::fault& /*at*/, uint32_t /*periods*/) noexcept {
    in_hook = true;
    while (!may_leave_hook) {}
}

// Returns 0 if the child of a fork can end the profile while another thread of the parent is in the
// hook.
int fork_while_in_hook() {
    if (!os::begin_sampling(&stay_in_hook)) return 2;
    std::atomic<int> tid{0};
    std::atomic<bool> over{false};
    std::thread other([&] {
        tid = os::current_tid();
        compute_until(over);
    });
    eventually([&] { return tid != 0; });
    os::sampling_timer timer;
    if (os::start_timer(timer, tid, 1'000'000, 1'000'000) != 0) return 3;
    eventually([] { return in_hook.load(); });
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(static_cast<unsigned>(std::chrono::duration_cast<std::chrono::seconds>(patience()).count()));
        os::end_sampling();
        ::_exit(0);
    }
    os::end_timer(timer);
    may_leave_hook = true;
    over = true;
    other.join();
    os::end_sampling();
    int status = 0;
    if (::waitpid(child, &status, 0) != child) return 4;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 5;
}

TEST_F(CpuProfileAlone, AForkMayHappenWhileAThreadIsInTheHook) {
    EXPECT_EXIT(std::_Exit(fork_while_in_hook()), ::testing::ExitedWithCode(0), "");
}

// Returns 0 if the handler of samples runs on the alternate stack although the program's does not
// ask for it.
int sample_after_handler_with_info() {
    struct sigaction own{};
    own.sa_sigaction = [](int, siginfo_t*, void*) { urgent.fetch_add(1); };
    own.sa_flags = SA_SIGINFO;
    if (::sigaction(SIGURG, &own, nullptr) != 0) return 2;
    static_cast<void>(cpu_profiler().stop());
    struct sigaction there{};
    if (::sigaction(SIGURG, nullptr, &there) != 0) return 3;
    if (there.sa_sigaction == own.sa_sigaction) return 4;
    if ((there.sa_flags & SA_ONSTACK) == 0) return 5;
    urgent = 0;
    ::raise(SIGURG);
    return urgent == 1 ? 0 : 6;
}

TEST_F(CpuProfileAlone, ItsHandlerUsesTheAlternateStack) {
    EXPECT_EXIT(std::_Exit(sample_after_handler_with_info()), ::testing::ExitedWithCode(0), "");
}

// ---- From a recording.

TEST_F(Profile, WaitsAreCountedByReasonAndStart) {
    runtime rt({.procs = 1});
    const observe::recorder recorder(rt);
    const int line = __LINE__ + 1;
    rt.go({.name = "sleeper"}, [] {
        for (int i = 0; i < 10; ++i) sleep_for(2ms);
    });
    rt.drain();
    const read_profile p = read_pprof(observe::blocking_profile(recorder.snapshot()).bytes());
    EXPECT_EQ(p.types, (std::vector<std::string>{"contentions/count", "delay/nanoseconds"}));
    EXPECT_EQ(p.default_type, "delay");
    const auto asleep = [](const read_sample& s) { return s.is_in("sleep") && s.label("name") == "sleeper"; };
    EXPECT_EQ(p.sum(0, asleep), 10);
    EXPECT_GE(p.sum(1, asleep), 20'000'000);
    const std::string place = "started at profile_test.cc:" + std::to_string(line);
    EXPECT_EQ(p.sum(0, in(place)), 10);
    for (const read_sample& s : p.samples) {
        if (!asleep(s)) continue;
        ASSERT_EQ(s.stack.size(), 2U);
        EXPECT_EQ(s.stack[1].line, line);
    }
}

TEST_F(Profile, WaitsThatHaveNotEndedAreNotCounted) {
    runtime rt({.procs = 1});
    const observe::recorder recorder(rt);
    const chan<int> c;
    rt.go([c] { c.recv(); });
    eventually([&] { return rt.stats().waiting == 1; });
    const read_profile p = read_pprof(observe::blocking_profile(recorder.snapshot()).bytes());
    EXPECT_EQ(p.sum(0, [](const read_sample& s) { return s.is_in("chan receive"); }), 0);
    ASSERT_FALSE(p.comments.empty());
    EXPECT_NE(p.comments[0].find("1 green threads still waited"), std::string::npos) << p.comments[0];
    c.close();
    rt.drain();
}

TEST_F(Profile, RunnableTimeIsThatBeforeARun) {
    runtime rt({.procs = 1});
    const observe::recorder recorder(rt);
    rt.run([] {
        wait_group all;
        all.go({.name = "waits"}, [] {});
        compute_hot(20ms);  // meanwhile it is runnable
        all.wait();
    });
    const read_profile p = read_pprof(observe::scheduling_profile(recorder.snapshot()).bytes());
    EXPECT_EQ(p.types, (std::vector<std::string>{"contentions/count", "delay/nanoseconds"}));
    EXPECT_EQ(p.sum(0, labelled("name", "waits")), 1);
    EXPECT_GE(p.sum(1, labelled("name", "waits")), 1'000'000) << "at least until a retake";
    EXPECT_GE(p.sum(0, in("started at profile_test.cc:")), 2);
}

// For pprof_check.py: files, and what must be found in them.
TEST_F(CpuProfile, WritesFilesForOtherPrograms) {
    const char* to = std::getenv("WEFT_TEST_PROFILES");
    const temp_folder folder;
    const std::string base = to == nullptr ? folder.path() : std::string(to);
    runtime rt({.procs = 2});
    const observe::recorder recorder(rt);
    const chan<int> c;
    for (int i = 0; i < 7; ++i) rt.go({.name = "receiver", .labels = {{"door", "red"}}}, [c] { park_for_value(c); });
    {
        cpu_profiler profiler({.label_green_threads = true});
        rt.go({.name = "hot"}, [] { compute_hot(400ms); });
        rt.go({.name = "cold"}, [] { compute_cold(50ms); });
        eventually([&] { return rt.stats().live == 7; });
        profiler.stop().write(base + "/cpu.pb");
    }
    observe::goroutine_profile(rt).write(base + "/goroutine.pb");
    c.close();
    rt.drain();
    const observe::recording r = recorder.snapshot();
    observe::scheduling_profile(r).write(base + "/sched.pb");
    observe::blocking_profile(r).write(base + "/block.pb");
    for (const char* name : {"cpu", "goroutine", "sched", "block"}) {
        std::ifstream file(base + "/" + name + ".pb", std::ios::binary);
        EXPECT_TRUE(file.good()) << name;
    }
}

}  // namespace
}  // namespace weft::test
