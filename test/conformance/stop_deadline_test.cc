// stop_deadline_test.cc: runtime::stop with a deadline: every wait ends, Gs clean up, and those
// that do not come back are left behind.

#include <dirent.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/captured.h"
#include "support/eventually.h"
#include "support/leaks.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"
#include "support/two_ends.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using StopDeadline = procs_test;
WEFT_SWEEP(StopDeadline);

// Counts its destructions.
struct counted {
    std::atomic<int>& count;

    ~counted() { ++count; }
};

TEST_P(StopDeadline, AnUnusedRuntimeStops) {
    const stop_outcome done = rt().shutdown(1s);
    EXPECT_EQ(done.drained + done.cancelled + done.abandoned + done.stragglers, 0U);
    EXPECT_FALSE(rt().running());
    EXPECT_EQ(rt().shutdown(1s).abandoned, 0U);  // again: nothing to do
}

TEST_P(StopDeadline, EveryCancellationPointEndsAndUnwinds) {
    const chan<int> empty;
    const chan<int> other;
    const chan<int> full(1);
    full.send(0);
    mutex m;
    condition_variable cv;
    counting_semaphore<> units(0);
    event never_set;
    promise<int> kept;
    future<int> result = kept.get_future();
    std::atomic<int> unwound = 0;
    std::atomic<int> went_on = 0;
    park(14, [&] {
        const auto start = [&](auto wait) {
            rt().go([&, wait] {
                const counted c{unwound};
                wait();
                ++went_on;
            });
        };
        start([&] { empty.recv(); });
        start([&] { (void)empty.recv_for(1h); });
        start([&] { full.send(1); });
        start([&] { (void)chan<int>::nil().recv(); });
        start([&] { chan<int>::nil().send(1); });
        start([&] { sleep_for(1h); });
        start([&] { sleep_until(std::chrono::steady_clock::time_point::max()); });
        start([&] { select(on_recv(empty, [](auto) {}), on_recv(other, [](auto) {})); });
        start([&] { select(on_recv(empty, [](auto) {}), on_timeout(1h, [] {})); });
        start([&] { select(); });
        start([&] {
            std::unique_lock lock(m);
            cv.wait(lock);
        });
        start([&] { units.acquire(); });
        start([&] { never_set.wait(); });
        start([&] { (void)result.get(); });
    });
    const stop_outcome done = rt().shutdown(10s);
    EXPECT_EQ(done.drained, 14U);
    EXPECT_GE(done.cancelled, 14U);
    EXPECT_EQ(done.abandoned, 0U);
    EXPECT_EQ(done.stragglers, 0U);
    EXPECT_EQ(unwound, 14);
    EXPECT_EQ(went_on, 0);
    // What they waited for shows no trace of them.
    EXPECT_EQ(empty.try_send(1), chan_status::would_block);
    EXPECT_EQ(full.try_recv().value, 0);
    EXPECT_EQ(full.try_recv().status, chan_status::would_block);
    units.release();
    EXPECT_TRUE(units.try_acquire());
    EXPECT_TRUE(m.try_lock());
    m.unlock();
    kept.set_value(1);
}

TEST_P(StopDeadline, TheExceptionIsCancelled) {
    std::atomic<int> caught = 0;
    park(1, [&] {
        rt().go([&] {
            try {
                sleep_for(1h);
            } catch (const cancelled&) {
                ++caught;
            }
        });
    });
    rt().shutdown(10s);
    EXPECT_EQ(caught, 1);
}

TEST_P(StopDeadline, ErrorCodesReportTheCancellation) {
    const chan<int> c;
    std::error_code why;
    park(1, [&] { rt().go([&] { (void)c.recv(why); }); });
    rt().shutdown(10s);
    EXPECT_EQ(why, make_error_code(errc::cancelled));
}

TEST_P(StopDeadline, EveryLaterWaitIsCancelled) {
    std::atomic<int> caught = 0;
    park(1, [&] {
        rt().go([&] {
            for (int i = 0; i < 3; ++i) {
                try {
                    sleep_for(1h);
                } catch (const cancelled&) {
                    ++caught;
                }
            }
        });
    });
    EXPECT_GE(rt().shutdown(10s).cancelled, 1U);
    EXPECT_EQ(caught, 3);
}

TEST_P(StopDeadline, AShieldProtectsAWait) {
    const chan<int> goodbye;
    std::atomic<int> said = 0;
    park(2, [&] {
        rt().go([&] {
            try {
                sleep_for(1h);
            } catch (const cancelled&) {
                shield([&] { goodbye.send(1), ++said; });
            }
        });
        rt().go([&] { shield([&] { said += goodbye.recv().value_or(0); }); });
    });
    const stop_outcome done = rt().shutdown(10s);
    EXPECT_EQ(done.drained, 2U);
    EXPECT_EQ(said, 2);
}

TEST_P(StopDeadline, ADestructorMayWaitDuringUnwinding) {
    struct waits_at_end {
        std::atomic<int>& done;

        ~waits_at_end() {
            sleep_for(5ms);
            ++done;
        }
    };

    std::atomic<int> done = 0;
    park(1, [&] {
        rt().go([&] {
            const waits_at_end w{done};
            sleep_for(1h);
        });
    });
    rt().shutdown(10s);
    EXPECT_EQ(done, 1);
}

TEST_P(StopDeadline, LocksAndJoinsAreNotCancelled) {
    mutex m;
    wait_group group;
    group.add();
    m.lock();
    std::atomic<int> went_on = 0;
    park(2, [&] {
        rt().go([&] { m.lock(), ++went_on, m.unlock(); });
        rt().go([&] { group.wait(), ++went_on; });
    });
    std::thread later([&] {
        std::this_thread::sleep_for(20ms);
        m.unlock();
        group.done();
    });
    const stop_outcome done = rt().shutdown(10s);
    later.join();
    EXPECT_EQ(done.drained, 2U);
    EXPECT_EQ(done.cancelled, 0U);
    EXPECT_EQ(went_on, 2);
}

TEST_P(StopDeadline, AbandonsRemainingGreenThreadsAtTheDeadline) {
    leak_on_purpose();
    mutex m;
    m.lock();
    std::atomic<int> went_on = 0;
    park(1, [&] { rt().go([&] { m.lock(), ++went_on; }); });
    const auto began = std::chrono::steady_clock::now();
    const stop_outcome done = rt().shutdown(20ms);
    EXPECT_GE(std::chrono::steady_clock::now() - began, 20ms);
    EXPECT_EQ(done.abandoned, 1U);
    EXPECT_EQ(done.stragglers, 0U);
    EXPECT_EQ(went_on, 0);
    m.unlock();
}

TEST_P(StopDeadline, ScopesAndTheirTokensAreCancelled) {
    std::atomic<bool> computes = false;
    std::atomic<int> stopped = 0;
    const bool has_room = procs() > 1;
    rt().go([&] {
        scope([&](auto& s) {
            if (has_room) {
                s.go([&] {
                    const std::stop_token token = this_g::stop_token();
                    computes = true;
                    while (!token.stop_requested()) {}
                    ++stopped;
                });
            }
            s.go([&] { sleep_for(1h); });
            s.go([&] { chan<int>::nil().recv(); });
        });
    });
    eventually([&] { return rt().stats().parks >= 3 && (computes || !has_room); });
    const stop_outcome done = rt().shutdown(10s);
    EXPECT_EQ(done.abandoned, 0U);
    EXPECT_EQ(stopped, has_room ? 1 : 0);
}

TEST_P(StopDeadline, ThrowIfCancelledEndsAComputation) {
    std::atomic<bool> computes = false;
    std::atomic<int> unwound = 0;
    rt().go([&] {
        const counted c{unwound};
        for (;;) {
            computes = true;
            throw_if_cancelled();
            yield();
        }
    });
    eventually([&] { return computes.load(); });
    EXPECT_EQ(rt().shutdown(10s).drained, 1U);
    EXPECT_EQ(unwound, 1);
}

TEST_P(StopDeadline, AFutureRethrowsTheCancellation) {
    future<int> f = rt().async([] {
        sleep_for(1h);
        return 1;
    });
    eventually([&] { return rt().stats().parks == 1; });
    rt().shutdown(10s);
    EXPECT_THROW(f.get(), cancelled);
}

TEST_P(StopDeadline, ManyCommunicatingGreenThreadsEnd) {
    const int rounds = scaled(procs() > 4 ? 3 : 20);
    for (int round = 0; round < rounds; ++round) {
        rt().start();
        std::atomic<int> unwound = 0;
        const chan<int> ring(3);
        mutex m;
        condition_variable cv;
        for (int i = 0; i < 100; ++i) {
            rt().go([&, i] {
                const counted c{unwound};
                for (;;) {
                    if (i % 4 == 0) ring.send(i);
                    if (i % 4 == 1) ring.recv();
                    if (i % 4 == 2) sleep_for(std::chrono::microseconds(i));
                    if (i % 4 == 3) {
                        std::unique_lock lock(m);
                        cv.notify_one();
                        cv.wait_for(lock, 100us);
                        throw_if_cancelled();
                    }
                }
            });
        }
        sleep_for(1ms);
        const stop_outcome done = rt().shutdown(30s);
        EXPECT_EQ(done.drained, 100U);
        EXPECT_EQ(done.abandoned, 0U);
        EXPECT_EQ(unwound, 100);
    }
}

TEST_P(StopDeadline, ItsGreenThreadsMayStartOthersWhileItDrains) {
    std::atomic<int> cleaned = 0;
    std::atomic<unsigned> procs = 0;
    park(1, [&] {
        rt().go([&] {
            try {
                chan<int>::nil().recv();
            } catch (const cancelled&) {
                procs = rt().procs();
                rt().go([&] { ++cleaned; });
                ++cleaned;
            }
        });
    });
    const unsigned before = rt().procs();
    EXPECT_EQ(rt().shutdown(patience()).abandoned, 0U);
    EXPECT_EQ(cleaned, 2);
    EXPECT_EQ(procs, before);
}

// They may do so until the last one has finished. A shield delays that until they have seen that
// the runtime drains.
TEST_P(StopDeadline, OtherThreadsMayStartGreenThreadsWhileItDrains) {
    std::atomic<bool> drains = false;
    std::atomic<int> started = 0;
    std::atomic<int> ran = 0;
    event go_on;
    rt().go([&] {
        try {
            chan<int>::nil().recv();
        } catch (const cancelled&) {
            drains = true;
            shield([&] { go_on.wait(); });
        }
    });
    std::thread feeder([&] {
        eventually([&] { return drains.load(); });
        for (int i = 0; i < 100; ++i) {
            rt().go([&] { ++ran; });
            static_cast<void>(rt().stats());
            ++started;
        }
        go_on.set();
    });
    const stop_outcome done = rt().shutdown(patience());
    feeder.join();
    EXPECT_EQ(started, 100);
    EXPECT_EQ(ran, 100);
    EXPECT_EQ(done.drained, 101U);
    EXPECT_EQ(done.abandoned, 0U);
}

// Even at the last moment, an accepted G is waited for, and any other is refused.
TEST_P(StopDeadline, AnAcceptedGIsWaitedForEvenAtTheEnd) {
    for (int round = 0; round < scaled(50); ++round) {
        std::atomic<int> ran = 0;
        int accepted = 0;
        constexpr int ahead = 3;  // no more, or the drain would take a while
        park(1, [&] { rt().go([] { chan<int>::nil().recv(); }); });
        std::atomic<bool> begun = false;
        std::thread feeder([&] {
            while (rt().try_go([&] { ++ran; })) {
                if (++accepted == 1) begun = true;
                while (rt().running() && accepted - ran > ahead) std::this_thread::yield();
            }
        });
        eventually([&] { return begun.load(); });
        const stop_outcome done = rt().shutdown(patience());
        feeder.join();
        EXPECT_EQ(done.abandoned, 0U);
        EXPECT_EQ(ran, accepted);
        EXPECT_FALSE(rt().try_go([] {}));
        rt().start();
    }
}

TEST_P(StopDeadline, ItStartsAgain) {
    park(1, [&] { rt().go([] { sleep_for(1h); }); });
    rt().shutdown(10s);
    rt().start();
    EXPECT_EQ(rt().run([] {
        sleep_for(1ms);
        return 7;
    }),
              7);
}

// ---- Stragglers. Their runtime stays for ever, so these are not procs_tests.

class Stragglers : public ::testing::TestWithParam<unsigned> {};

INSTANTIATE_TEST_SUITE_P(Procs, Stragglers, ::testing::Values(1U, 2U, 4U));

void read_byte(const two_ends& from) {
    char c = 0;
    EXPECT_EQ(::read(from.read_end(), &c, 1), 1);
}

void write_byte(const two_ends& to) { EXPECT_EQ(::write(to.write_end(), "x", 1), 1); }

// Checks what stop() prints when `straggle` does not return. It returns after release(), and then
// calls its argument.
void expect_left_behind(unsigned procs, auto straggle, auto release, const char* says) {
    leak_on_purpose();
    const std::size_t threads = resources::now().threads;
    auto rt = std::make_unique<runtime>(runtime_options{.procs = procs, .name = "stuck"});
    std::atomic<bool> is_there = false;
    std::atomic<bool> is_back = false;
    const chan<int> c;
    rt->go({.name = "straggler"}, [&] {
        is_there = true;
        straggle([&] { is_back = true; });
        chan<int>::nil().recv();
    });
    eventually([&] { return is_there.load(); });
    stop_outcome done;
    const std::string text = stderr_of([&] { done = rt->shutdown(20ms); });
    EXPECT_EQ(done.stragglers, 1U) << text;
    EXPECT_EQ(done.abandoned, 1U);
    EXPECT_NE(text.find("\"straggler\""), std::string::npos) << text;
    EXPECT_NE(text.find(says), std::string::npos) << text;
    EXPECT_FALSE(rt->running());
    rt->start();  // another one
    EXPECT_EQ(rt->run([] { return 3; }), 3);
    rt.reset();
    // It returns to a runtime that is gone, and its thread ends.
    release();
    eventually([&] { return is_back.load(); });
    eventually([&] { return resources::now().threads <= threads; });  // fewer: threads of lookups end by themselves
}

TEST_P(Stragglers, ABlockedReadIsReported) {
    const two_ends p = two_ends::of_pipe();
    expect_left_behind(
        GetParam(),
        [&](auto is_back) {
            read_byte(p);
            is_back();
        },
        [&] { write_byte(p); }, "is blocked");
}

TEST_P(Stragglers, ABlockingCallIsReported) {
    const two_ends p = two_ends::of_pipe();
    expect_left_behind(
        GetParam(),
        [&](auto is_back) {
            // Called inside the call. At its end the G waits for a P if it has lost its own, and is
            // abandoned there.
            blocking([&] {
                read_byte(p);
                is_back();
            });
        },
        [&] { write_byte(p); }, "is in a blocking call");
}

TEST_P(Stragglers, AComputationIsReported) {
    std::atomic<bool> enough = false;
    expect_left_behind(
        GetParam(),
        [&](auto is_back) {
            while (!enough) {}
            is_back();
        },
        [&] { enough = true; }, "computes");
}

// What it starts is abandoned, like anything started after the end.
TEST_P(Stragglers, GsStartedByAReturningStragglerAreAbandoned) {
    leak_on_purpose();
    runtime rt({.procs = GetParam(), .name = "stuck"});
    std::atomic<bool> is_there = false;
    std::atomic<bool> enough = false;
    std::atomic<bool> has_started = false;
    std::atomic<bool> ran = false;
    rt.go([&] {
        is_there = true;
        while (!enough) {}
        rt.go([&] { ran = true; });
        has_started = rt.try_go([&] { ran = true; });
    });
    eventually([&] { return is_there.load(); });
    const std::size_t threads = resources::now().threads;
    stop_outcome done;
    static_cast<void>(stderr_of([&] { done = rt.shutdown(20ms); }));
    EXPECT_EQ(done.stragglers, 1U);
    enough = true;
    eventually([&] { return has_started.load(); });
    eventually([&] { return resources::now().threads < threads; });
    EXPECT_FALSE(ran);
    EXPECT_FALSE(rt.try_go([] {})) << "by others it is not used any more";
}

bool is_there(pid_t thread) { return ::syscall(SYS_tgkill, ::getpid(), thread, 0) == 0; }

// Each ending thread cleans up after earlier ones, which have already done so themselves.
TEST_P(Stragglers, PinnedStragglersMayEndOneByOne) {
    constexpr std::size_t count = 3;
    leak_on_purpose();
    runtime rt({.procs = GetParam(), .name = "stuck"});
    std::atomic<pid_t> threads[count] = {};
    std::atomic<std::size_t> over = 0;
    std::atomic<std::size_t> back = 0;
    for (std::size_t i = 0; i < count; ++i) {
        rt.go([&, i] {
            pin here;
            here.keep();  // its thread ends with it
            threads[i] = static_cast<pid_t>(::syscall(SYS_gettid));
            while (over <= i) {}
            ++back;
        });
    }
    for (const auto& thread : threads) eventually([&] { return thread != 0; });
    stop_outcome done;
    const std::string text = stderr_of([&] { done = rt.shutdown(20ms); });
    EXPECT_EQ(done.stragglers, count) << text;
    for (const auto& thread : threads) {
        ++over;
        eventually([&] { return back == over; });
        eventually([&] { return !is_there(thread); });
    }
}

// They keep their Ps until they end, because a stopping runtime hands none off.
TEST_P(Stragglers, PinnedGsThatEndDuringAStopRetireTheirThreads) {
    constexpr std::size_t count = 2;
    runtime rt({.procs = std::max(GetParam(), 2U), .name = "stops"});
    std::atomic<pid_t> threads[count] = {};
    std::atomic<std::size_t> over = 0;
    for (std::size_t i = 0; i < count; ++i) {
        rt.go([&, i] {
            pin here;
            here.keep();  // its thread ends with it
            threads[i] = static_cast<pid_t>(::syscall(SYS_gettid));
            while (over <= i) {}
        });
    }
    for (const auto& thread : threads) eventually([&] { return thread != 0; });
    std::thread stopper([&] { rt.abandon(); });
    eventually([&] { return !rt.try_go([] {}); });
    for (const auto& thread : threads) {
        ++over;
        eventually([&] { return !is_there(thread); });
    }
    stopper.join();
    EXPECT_FALSE(rt.running());
}

// The thread of this process with that name. 0: there is no such thread.
pid_t thread_named(const std::string& name) {
    DIR* const all = ::opendir("/proc/self/task");
    if (all == nullptr) return 0;
    pid_t found = 0;
    while (const dirent* one = ::readdir(all)) {  // NOLINT(concurrency-mt-unsafe): our own
        std::string text;
        std::ifstream(std::string("/proc/self/task/") + one->d_name + "/comm") >> text;
        if (text == name) found = std::atoi(one->d_name);  // NOLINT: a number
    }
    ::closedir(all);
    return found;
}

std::atomic<int> held_up = 0;
std::atomic<bool> may_go_on = false;

// While one exists, threads of runtimes can be held up in a signal handler at any time.
class hold_ups {
public:
    hold_ups() {
        held_up = 0;
        may_go_on = false;
        struct sigaction holds_up = {};
        holds_up.sa_handler = [](int) {
            for (++held_up; !may_go_on;) {}
        };
        ::sigaction(signal, &holds_up, &before_);
    }

    ~hold_ups() { ::sigaction(signal, &before_, nullptr); }

    hold_ups(const hold_ups&) = delete;
    hold_ups& operator=(const hold_ups&) = delete;

    // Waits for a thread of that name, holds it up, and returns its id.
    pid_t hold_up(const std::string& name) {
        pid_t thread = 0;
        eventually([&] { return (thread = thread_named(name)) != 0; });
        const int before = held_up;
        ::syscall(SYS_tgkill, ::getpid(), thread, signal);
        eventually([&] { return held_up > before; });
        return thread;
    }

private:
    static constexpr int signal = SIGSYS;  // the threads of a runtime do not block it
    struct sigaction before_ = {};
};

// The monitor writes no report, so stop() waits longer for it than for others, but not for ever.
TEST(StragglerWithoutAG, AHangingMonitorIsReported) {
    leak_on_purpose();
    hold_ups held;
    const std::size_t threads = resources::now().threads;
    runtime rt({.procs = 2, .name = "held"});
    const pid_t monitor = held.hold_up("held-sysmon");
    stop_outcome done;
    const std::string text = stderr_of([&] { done = rt.shutdown(20ms); });
    EXPECT_EQ(done.stragglers, 1U) << text;
    EXPECT_NE(text.find(std::to_string(monitor) + ", its monitor"), std::string::npos) << text;
    EXPECT_FALSE(rt.running());
    may_go_on = true;
    eventually([&] { return resources::now().threads <= threads; });  // fewer: threads of lookups end by themselves
}

// On a busy machine a thread may have no CPU for longer than stop() waits for stragglers. These
// threads have nothing to do but to end.
TEST_P(Stragglers, SlowThreadsAreNotStragglers) {
    hold_ups held;
    runtime rt({.procs = GetParam(), .name = "slow"});
    rt.run([] {});
    eventually([&] { return rt.stats().threads_idle == rt.stats().threads; });  // no thread is still leaving its G
    held.hold_up("slow-0");
    held.hold_up("slow-sysmon");
    std::thread later([] {
        std::this_thread::sleep_for(400ms);  // deliberately longer than the time for stragglers
        may_go_on = true;
    });
    stop_outcome done;
    const std::string text = stderr_of([&] { done = rt.shutdown(20ms); });
    EXPECT_EQ(done.stragglers, 0U) << text;
    EXPECT_TRUE(may_go_on);
    later.join();
}

}  // namespace
}  // namespace weft::test
