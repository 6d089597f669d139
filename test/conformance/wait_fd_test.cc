// wait_fd_test.cc: waiting for foreign descriptors, alone and in a select.

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <thread>
#include <variant>

#include <gtest/gtest.h>

#include <weft/net/unix.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/outside_poller.h"
#include "support/procs_test.h"
#include "support/resources.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

// Two connected ends in blocking mode that belong to no poller.
class Ends {
public:
    Ends() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds_.data()), 0); }

    ~Ends() {
        for (const int fd : fds_) ::close(fd);
    }

    Ends(const Ends&) = delete;
    Ends& operator=(const Ends&) = delete;

    [[nodiscard]] int near() const { return fds_[0]; }

    [[nodiscard]] int far() const { return fds_[1]; }

    void send() const { EXPECT_EQ(::send(far(), "x", 1, 0), 1); }

    void take() const {
        char c = 0;
        EXPECT_EQ(::recv(near(), &c, 1, MSG_DONTWAIT), 1);
    }

    void fill() const {
        const std::array<char, 4096> some{};
        while (::send(near(), some.data(), some.size(), MSG_DONTWAIT) > 0) {}
    }

    void drain() const {
        std::array<char, 4096> some{};
        while (::recv(far(), some.data(), some.size(), MSG_DONTWAIT) > 0) {}
    }

private:
    std::array<int, 2> fds_{};
};

class WaitFd : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }
};

WEFT_SWEEP_OVER(WaitFd, 1U, 2U, 4U);

TEST_P(WaitFd, AReadyDescriptorDoesNotWait) {
    rt().run([] {
        const Ends ends;
        EXPECT_EQ(wait_fd(ends.near(), fd_events::writable), fd_events::writable);
        EXPECT_EQ(wait_fd(ends.near(), fd_events::either), fd_events::writable);
        ends.send();
        EXPECT_EQ(wait_fd(ends.near(), fd_events::readable), fd_events::readable);
        EXPECT_EQ(wait_fd(ends.near(), fd_events::either), fd_events::either);
        ends.take();
        EXPECT_EQ(wait_fd_for(ends.near(), fd_events::readable, 1ms), fd_events::none);
    });
}

TEST_P(WaitFd, WaitsUntilDataArrives) {
    rt().run([&] {
        const Ends ends;
        const watched_fd near(ends.near());
        for (int i = 0; i < 20; ++i) {
            wait_group all;
            all.go([&] {
                EXPECT_EQ(near.wait(fd_events::readable), fd_events::readable);
                ends.take();
            });
            while (rt().stats().waiting == 0) yield();
            ends.send();
            all.wait();
        }
    });
}

TEST_P(WaitFd, WaitsUntilThereIsRoom) {
    rt().run([&] {
        const Ends ends;
        ends.fill();
        wait_group all;
        all.go([&] { EXPECT_EQ(wait_fd(ends.near(), fd_events::writable), fd_events::writable); });
        all.go([&] { EXPECT_EQ(wait_fd(ends.near(), fd_events::either), fd_events::writable); });
        while (rt().stats().waiting < 2) yield();
        ends.drain();
        all.wait();
    });
}

TEST_P(WaitFd, WakesAllWaitersForTheSameEvent) {
    rt().run([&] {
        const Ends ends;
        wait_group all;
        for (int i = 0; i < 5; ++i) {
            all.go([&] { EXPECT_EQ(wait_fd(ends.near(), fd_events::readable), fd_events::readable); });
        }
        while (rt().stats().waiting < 5) yield();
        ends.send();
        all.wait();
    });
}

TEST_P(WaitFd, ACloseOfThePeerIsReadable) {
    rt().run([&] {
        const Ends ends;
        wait_group all;
        all.go([&] { EXPECT_NE(wait_fd(ends.near(), fd_events::either) & fd_events::writable, fd_events::none); });
        all.wait();
        all.go([&] { EXPECT_EQ(wait_fd(ends.near(), fd_events::readable), fd_events::readable); });
        while (rt().stats().waiting == 0) yield();
        ::shutdown(ends.far(), SHUT_RDWR);
        all.wait();
    });
}

TEST_P(WaitFd, PipesAndRegularFilesWork) {
    rt().run([] {
        int ends[2];
        ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        EXPECT_EQ(wait_fd_for(ends[0], fd_events::readable, 1ms), fd_events::none);
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
        EXPECT_EQ(wait_fd(ends[0], fd_events::readable), fd_events::readable);
        ::close(ends[0]);
        EXPECT_EQ(wait_fd(ends[1], fd_events::writable), fd_events::writable);  // an error, which write() finds
        ::close(ends[1]);
        std::FILE* file = std::tmpfile();
        EXPECT_EQ(wait_fd(::fileno(file), fd_events::either), fd_events::either);
        std::fclose(file);
    });
}

TEST_P(WaitFd, AnInvalidDescriptorIsAnError) {
    rt().run([] {
        const auto error_of = [](auto f) {
            try {
                f();
            } catch (const std::system_error& e) {
                return e.code();
            }
            return std::error_code();
        };
        EXPECT_EQ(error_of([] { wait_fd(-1, fd_events::readable); }), std::errc::bad_file_descriptor);
        const int gone = ::fcntl(0, F_DUPFD, 900);  // not the lowest free number, which the next open would get
        ::close(gone);
        EXPECT_EQ(error_of([&] { wait_fd(gone, fd_events::readable); }), std::errc::bad_file_descriptor);
        const watched_fd w(gone);
        EXPECT_EQ(error_of([&] { select(on_readable(w, [] {})); }), std::errc::bad_file_descriptor);
        const Ends ends;
        EXPECT_EQ(error_of([&] { wait_fd(ends.near(), fd_events::none); }), std::errc::invalid_argument);
    });
}

TEST_P(WaitFd, DeadlinesAndCancellationEndAWait) {
    rt().run([&] {
        const Ends ends;
        EXPECT_THROW(with_timeout(1ms, [&] { wait_fd(ends.near(), fd_events::readable); }), timed_out);
        ends.fill();
        EXPECT_THROW(with_timeout(1ms, [&] { wait_fd(ends.near(), fd_events::either); }), timed_out);
        EXPECT_EQ(wait_fd_until(ends.near(), fd_events::either, std::chrono::steady_clock::now()), fd_events::none);
        std::atomic<bool> was_cancelled = false;
        scope([&](auto& s) {
            s.go([&] {
                try {
                    wait_fd(ends.near(), fd_events::readable);
                } catch (const cancelled&) {
                    was_cancelled = true;
                    throw;
                }
            });
            while (rt().stats().waiting == 0) yield();
            s.cancel();
        });
        EXPECT_TRUE(was_cancelled);
    });
}

// Its owner closes it, and the number is reused at once.
TEST_P(WaitFd, AReusedNumberWaitsForItsNewFile) {
    rt().run([&] {
        for (int i = 0; i < 20; ++i) {
            const Ends ends;
            EXPECT_EQ(wait_fd_for(ends.near(), fd_events::readable, 10us), fd_events::none);
            wait_group all;
            all.go([&] { wait_fd(ends.near(), fd_events::readable); });
            while (rt().stats().waiting == 0) yield();
            ends.send();
            all.wait();
        }
    });
}

TEST_P(WaitFd, ClosingASocketObjectEndsTheWait) {
    rt().run([&] {
        auto [near, far] = net::unix_stream::pair();
        wait_group all;
        std::atomic<int> watching = 0;
        all.go([&] {
            const watched_fd w(near.native_handle());
            ++watching;
            try {
                w.wait(fd_events::readable);
                ADD_FAILURE();
            } catch (const std::system_error& e) {
                EXPECT_EQ(e.code(), errc::closed);
            }
        });
        all.go([&] {
            const watched_fd w(near.native_handle());
            ++watching;
            EXPECT_THROW(select(on_readable(w, [] {})), std::system_error);
        });
        while (watching < 2 || rt().stats().waiting < 2) yield();
        near.close();
        all.wait();
    });
}

TEST_P(WaitFd, PlainThreadsMayWait) {
    const Ends ends;
    std::thread waiter([&] {
        EXPECT_EQ(wait_fd(ends.near(), fd_events::readable), fd_events::readable);
        EXPECT_EQ(wait_fd_for(ends.near(), fd_events::either, 1s), fd_events::either);
    });
    ends.send();
    waiter.join();
}

TEST_P(WaitFd, IsACaseOfASelect) {
    rt().run([&] {
        const Ends ends;
        const watched_fd near(ends.near());
        const chan<int> values(1);
        const auto choose = [&] {
            return select(on_readable(near, [] {}), on_recv(values, [](std::optional<int>) {}), otherwise([] {}));
        };
        EXPECT_EQ(choose(), 2U);
        values.send(1);
        EXPECT_EQ(choose(), 1U);
        ends.send();
        EXPECT_EQ(choose(), 0U);
        EXPECT_EQ(choose(), 0U);  // nothing has been read
        ends.take();
        EXPECT_EQ(choose(), 2U);
        EXPECT_EQ(select(writable_case(near), recv_case(values)).index(), 0U);
        EXPECT_EQ(select(on_readable(near, [] {}), on_timeout(1ms, [] {})), 1U);
    });
}

TEST_P(WaitFd, ASelectTakesTheFirstEvent) {
    rt().run([&] {
        const Ends ends;
        const watched_fd near(ends.near());
        const chan<int> values;
        int from_fd = 0;
        int from_chan = 0;
        wait_group all;
        constexpr int rounds = 200;
        const chan<int> next;
        all.go([&] {
            for (int i = 0; i < rounds; ++i) {
                if (i % 2 == 0) {
                    ends.send();
                } else {
                    values.send(i);
                }
                next.recv();
            }
        });
        for (int i = 0; i < rounds; ++i) {
            select(on_readable(near,
                               [&] {
                                   ends.take();
                                   ++from_fd;
                               }),
                   on_recv(values, [&](std::optional<int>) { ++from_chan; }));
            next.send(i);
        }
        all.wait();
        EXPECT_EQ(from_fd, rounds / 2);
        EXPECT_EQ(from_chan, rounds / 2);
    });
}

TEST_P(WaitFd, IsACaseOfASelectSet) {
    rt().run([&] {
        const Ends ends;
        const chan<int> values(1);
        select_set set;
        int reads = 0;
        int writes = 0;
        const std::size_t in = set.add_readable(ends.near(), [&] {
            ends.take();
            ++reads;
        });
        const std::size_t from = set.add_recv(values, [](std::optional<int>) {});
        EXPECT_FALSE(set.try_wait());
        EXPECT_FALSE(set.wait_for(1ms));
        wait_group all;
        all.go([&] { ends.send(); });
        EXPECT_EQ(set.wait(), in);
        all.go([&] { values.send(1); });
        EXPECT_EQ(set.wait(), from);
        all.wait();
        const std::size_t out = set.add_writable(ends.near(), [&] { ++writes; });
        EXPECT_EQ(set.wait(), out);
        set.remove(out);
        EXPECT_FALSE(set.try_wait());
        EXPECT_EQ(reads, 1);
        EXPECT_EQ(writes, 1);
        EXPECT_THROW(set.add_readable(-1, [] {}), std::system_error);
        set.remove(in);
    });
}

// An edge wakes one of the waiters. If another reader was faster, that waiter waits on, and no
// other is lost.
TEST_P(WaitFd, SelectsOnOneDescriptorGetEachByteOnce) {
    constexpr int readers = 4;
    constexpr int bytes = 2000;
    rt().run([&] {
        const Ends ends;
        const watched_fd near(ends.near());
        const chan<int> quit;
        std::atomic<int> got = 0;
        wait_group all;
        for (int i = 0; i < readers; ++i) {
            all.go([&] {
                for (bool on = true; on;) {
                    select(on_readable(near,
                                       [&] {
                                           char c = 0;
                                           if (::recv(ends.near(), &c, 1, MSG_DONTWAIT) == 1) ++got;
                                       }),
                           on_recv(quit, [&](std::optional<int>) { on = false; }));
                }
            });
        }
        for (int i = 0; i < bytes; ++i) {
            while (::send(ends.far(), "x", 1, MSG_DONTWAIT) != 1) yield();
            if (i % 16 == 0) yield();
        }
        eventually([&] { return got == bytes; });
        quit.close();
        all.wait();
        EXPECT_EQ(got, bytes);
    });
}

TEST_P(WaitFd, ReadsOfASocketRunBesideWaits) {
    constexpr int bytes = 500;
    rt().run([&] {
        auto [near, far] = net::unix_stream::pair();
        const watched_fd watched(near.native_handle());
        std::atomic<int> got = 0;
        std::atomic<int> seen = 0;
        wait_group all;
        all.go([&] {
            eventually([&] { return seen > 0; });  // otherwise it may read everything before the other one looks
            char c = 0;
            while (near.read_some({&c, 1}) == 1) ++got;
        });
        all.go([&] {
            while (got < bytes) {
                if (watched.wait_for(fd_events::readable, 1ms) == fd_events::readable) ++seen;
                yield();
            }
        });
        for (int i = 0; i < bytes; ++i) {
            far.write_all("x");
            yield();
        }
        far.shutdown_send();
        all.wait();
        EXPECT_EQ(got, bytes);
        EXPECT_GT(seen, 0);
    });
}

// A descriptor number is reused while a G waits for its old file. A waiter for the new file is
// woken.
TEST_P(WaitFd, AWaiterOnAReusedNumberIsWoken) {
    Ends old;
    Ends fresh;
    const int number = old.near();
    const uint64_t parks = rt().stats().parks;
    rt().go([&] { static_cast<void>(wait_fd_for(number, fd_events::readable, 20s)); });
    eventually([&] { return rt().stats().parks > parks; });
    ASSERT_EQ(::dup2(fresh.near(), number), number);
    std::atomic<bool> told = false;
    rt().go([&] {
        static_cast<void>(wait_fd(number, fd_events::readable));
        told = true;
    });
    eventually([&] { return rt().stats().parks > parks + 1; });
    EXPECT_EQ(::write(fresh.far(), "x", 1), 1);
    eventually([&] { return told.load(); });
    rt().drain();
}

// A runtime that ends abandons a green thread that an edge has woken, and that will never check.
// The edge must wake another waiter.
TEST(WaitFdAtTheEnd, AnAbandonedWaiterPassesItsEdgeOn) {
    for (const bool selects : {false, true}) {
        auto [near, far] = net::unix_stream::pair();
        const watched_fd w(near.native_handle());
        static_cast<void>(w.wait_for(fd_events::readable, 1ms));  // its events come to plain threads
        std::atomic<bool> got = false;
        std::atomic<bool> computes = false;
        std::atomic<bool> ends = false;
        std::thread other;
        {
            runtime rt({.procs = 1});
            rt.go([&] {
                if (selects) {
                    select(on_readable(w, [] {}), on_timeout(10s, [] {}));
                } else {
                    static_cast<void>(w.wait(fd_events::readable));
                }
            });
            eventually([&] { return rt.stats().waiting == 1; });
            const uint32_t before = static_cast<uint32_t>(resources::now().threads);
            other = std::thread([&] { got = w.wait_for(fd_events::readable, 30s) == fd_events::readable; });
            eventually([&] { return resources::now().threads > before; });
            std::this_thread::sleep_for(20ms);  // most of the time it waits behind the first then
            rt.go([&] {
                computes = true;
                while (!ends) {}
            });
            eventually([&] { return computes.load(); });
            far.write_all("x");
            std::this_thread::sleep_for(2ms);  // the first is woken by then, and does not run
            std::thread soon([&] {
                std::this_thread::sleep_for(1ms);
                ends = true;
            });
            rt.abandon();
            soon.join();
        }
        other.join();
        EXPECT_TRUE(got) << (selects ? "a select" : "a wait");
    }
}

}  // namespace
}  // namespace weft::test
