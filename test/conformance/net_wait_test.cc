// net_wait_test.cc: how waiting for descriptors affects other threads; pipes; and files that never
// have to be waited for.

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/wait_fd.h>
#include <weft/weft.h>

#include "support/connections.h"
#include "support/eventually.h"
#include "support/outside_poller.h"
#include "support/pending_timers.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/tally.h"
#include "support/two_ends.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class NetWait : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }

    // While body runs, the only waiter is a reader, for a descriptor.
    template <typename Body>
    void beside_a_reader(Body body) {
        connection c((over_tcp()));
        c.near.set_read_deadline(steady::now() + 1h);  // and for a timer, far away
        std::atomic<int> got = 0;
        park(1, [&] {
            rt().go([&] {
                char b[1];
                while (c.near.read_some(b) == 1) ++got;
            });
        });
        body(c.far, got);
        c.far.shutdown_send();
        rt().drain();
    }
};

WEFT_SWEEP_OVER(NetWait, 1U, 2U, 4U);

// Runs `many` green threads, each of which waits busily for the others.
void meet(unsigned many) {
    std::atomic<unsigned> here = 0;
    wait_group all;
    for (unsigned i = 0; i < many; ++i) {
        all.go([&] {
            ++here;
            busily([&] { return here == many; });
        });
    }
    all.wait();
}

TEST_P(NetWait, EveryProcessorRunsDuringAFileWait) {
    beside_a_reader([&](auto& far, std::atomic<int>& got) {
        for (int i = 1; i <= scaled(20); ++i) {
            rt().run([&] {
                meet(procs());
                far.write_all("x");
                meet(procs());
                if (i % 2 == 0) sleep_for(1ms);  // the Ms go idle, one of them in the poller
            });
            eventually([&] { return got == i; });
        }
    });
}

// The M that sleeps in the poller is woken for other work at once, whichever threads bring it, and
// however many.
TEST_P(NetWait, NewWorkInterruptsALongPoll) {
    beside_a_reader([&](auto& far, std::atomic<int>& got) {
        const auto start = steady::now();
        for (int i = 0; i < scaled(200); ++i) rt().run([] {});
        std::vector<std::thread> several;
        std::atomic<int> ran = 0;
        for (int i = 0; i < 4; ++i) {
            several.emplace_back([&] {
                for (int k = 0; k < scaled(100); ++k) ran += rt().run([] { return 1; });
            });
        }
        for (std::thread& t : several) t.join();
        EXPECT_EQ(ran, 4 * scaled(100));
        for (int i = 0; i < 5; ++i) rt().run([] { sleep_for(1ms); });  // a nearer timer
        far.write_all("x");
        eventually([&] { return got == 1; });
        EXPECT_LT(steady::now() - start, 10s);
    });
}

TEST_P(NetWait, DoesNotCountAsADeadlock) {
    const two_ends report = two_ends::of_pipe();
    const chan<int> never;
    beside_a_reader([&](auto& /*far*/, std::atomic<int>& /*got*/) {
        EXPECT_FALSE(rt().report_deadlock(report.write_end())) << "the other side may send something";
        park(1, [&] { rt().go([=] { never.recv(); }); });
        EXPECT_FALSE(rt().report_deadlock(report.write_end())) << "whoever reads may send on";
        never.send(1);
    });
    park(1, [&] { rt().go([=] { never.recv(); }); });
    EXPECT_TRUE(rt().report_deadlock(report.write_end())) << "nobody waits for a file any more";
    never.send(1);
}

// Waiters are counted only until their waits end, whatever ends them.
TEST_P(NetWait, WaitersAreCountedOnlyWhileTheyWait) {
    std::vector<connection<over_unix>> all;
    constexpr int many = 12;
    for (int i = 0; i < 4 * many; ++i) all.emplace_back(over_unix());
    std::stop_source stop;
    std::atomic<int> ended = 0;
    park(all.size(), [&] {
        for (auto& c : all) {
            rt().go([&] {
                with_stop_token(stop.get_token(), [&] {
                    char b[1];
                    std::error_code ec;
                    static_cast<void>(c.near.read_some(b, ec));
                    ++ended;
                });
            });
        }
    });
    eventually([&] { return rt().stats().waiting == all.size(); });
    for (std::size_t i = 0; i < many; ++i) {
        all[i].near.close();
        all[many + i].far.close();
        all[2 * many + i].near.set_deadline(steady::now() + 1ms);
    }
    eventually([&] { return ended == 3 * many; });
    eventually([&] { return rt().stats().waiting == many; });
    stop.request_stop();
    rt().drain();
    EXPECT_EQ(ended, 4 * many);
    EXPECT_EQ(rt().stats().waiting, 0U);
    EXPECT_EQ(pending_timers(rt()), 0U);
}

// ---- Pipes.

ssize_t read_from(int fd, void* into, std::size_t size) {
    for (;;) {
        const ssize_t n = ::read(fd, into, size);
        if (n >= 0 || errno != EAGAIN) return n;
        wait_fd(fd, fd_events::readable);
    }
}

// Returns 0, or an errno value.
int write_to(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
        if (n < 0 && errno != EAGAIN) return errno;
        if (n < 0) wait_fd(fd, fd_events::writable);
    }
    return 0;
}

TEST_P(NetWait, APipeIsReadToItsEnd) {
    for (const bool with_poller : {true, false}) {
        two_ends ends = with_poller ? two_ends::of_pipe(O_CLOEXEC | O_NONBLOCK) : two_ends::of_pipe();
        const std::string all = secret_bytes(5, 0, 1'000'000);
        std::atomic<int> error = -1;
        rt().go([&] {
            error = with_poller ? write_to(ends.write_end(), all)
                                : blocking([&] { return write_to(ends.write_end(), all); });
            ends.close_write_end();
        });
        rt().run([&] {
            std::array<char, 5000> b;
            std::size_t got = 0;
            for (;;) {
                const auto read = [&] { return read_from(ends.read_end(), b.data(), b.size()); };
                const ssize_t n = with_poller ? read() : blocking(read);
                ASSERT_GE(n, 0);
                if (n == 0) break;
                EXPECT_TRUE(are_secret_bytes(b.data(), static_cast<std::size_t>(n), 5, got));
                got += static_cast<std::size_t>(n);
            }
            EXPECT_EQ(got, all.size());
        });
        rt().drain();
        EXPECT_EQ(error, 0);
    }
}

TEST_P(NetWait, ClosingAnEndOfAPipeWakesTheOtherEnd) {
    prng random(announced_seed());
    for (int round = 0; round < scaled(100); ++round) {  // the threads of a runtime take no SIGPIPE
        rt().run([&] {
            two_ends read_by_us = two_ends::of_pipe(O_CLOEXEC | O_NONBLOCK);
            two_ends written_by_us = two_ends::of_pipe(O_CLOEXEC | O_NONBLOCK);
            wait_group all;
            all.go([&] {
                char b[1];
                EXPECT_EQ(read_from(read_by_us.read_end(), b, 1), 0);
            });
            all.go([&] { EXPECT_EQ(write_to(written_by_us.write_end(), std::string(200'000, 'x')), EPIPE); });
            for (int i = random.below(3); i > 0; --i) yield();
            read_by_us.close_write_end();
            written_by_us.close_read_end();
            all.wait();
        });
    }
}

TEST_P(NetWait, ManyReadersOfAPipeGetEachByteOnce) {
    const auto count = static_cast<std::size_t>(scaled(2000));
    tally seen(count);
    two_ends ends = two_ends::of_pipe(O_CLOEXEC | O_NONBLOCK);
    rt().run([&] {
        wait_group readers;
        for (int i = 0; i < 8; ++i) {
            readers.go([&] {
                uint32_t number = 0;  // so few bytes are read and written atomically
                while (read_from(ends.read_end(), &number, sizeof(number)) == sizeof(number)) seen.mark(number);
            });
        }
        wait_group writers;
        for (uint32_t w = 0; w < 4; ++w) {
            writers.go([&, w] {
                for (uint32_t n = w; n < count; n += 4) {
                    EXPECT_EQ(write_to(ends.write_end(), {reinterpret_cast<const char*>(&n), sizeof(n)}), 0);
                    if (n % 7 == 0) yield();
                }
            });
        }
        writers.wait();
        ends.close_write_end();
        readers.wait();
    });
    EXPECT_TRUE(seen.exactly_once());
}

// ---- Files that never have to be waited for.

class plain_file {
public:
    explicit plain_file(const std::string& text) : file_(std::tmpfile(), &std::fclose) {
        EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), file_.get()), text.size());
        EXPECT_EQ(std::fflush(file_.get()), 0);
    }

    [[nodiscard]] int fd() const { return ::fileno(file_.get()); }

private:
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

TEST_P(NetWait, ARegularFileIsReadyEvenPastTheDeadline) {
    const plain_file file("text");
    rt().run([&] {
        for (const auto time : {-1h, 0h, 1h}) {
            EXPECT_EQ(wait_fd_until(file.fd(), fd_events::readable, steady::now() + time), fd_events::readable);
            EXPECT_EQ(wait_fd_until(file.fd(), fd_events::either, steady::now() + time), fd_events::either);
        }
        EXPECT_EQ(with_timeout(0s, [&] { return wait_fd(file.fd(), fd_events::writable); }), fd_events::writable);
    });
}

// Each sends from its own offset, through one shared descriptor.
TEST_P(NetWait, ManyConnectionsSendTheSameFile) {
    constexpr std::size_t piece = 100'000;
    constexpr uint64_t many = 8;
    const plain_file file(secret_bytes(3, 0, piece * many));
    rt().run([&] {
        over_streams([&](auto over) {
            wait_group all;
            for (uint64_t i = 0; i < many; ++i) {
                all.go([&, i] {
                    connection c(over);
                    wait_group reader;
                    reader.go([&] {
                        std::string got(piece, ' ');
                        EXPECT_EQ(c.far.read(got), piece);
                        EXPECT_TRUE(are_secret_bytes(got.data(), piece, 3, i * piece));
                    });
                    EXPECT_EQ(c.near.sendfile(file.fd(), static_cast<int64_t>(i * piece), piece), piece);
                    reader.wait();
                });
            }
            all.wait();
        });
    });
}

TEST_P(NetWait, AdoptRefusesDescriptorsThatAreNoSockets) {
    const plain_file file("text");
    const two_ends pipe = two_ends::of_pipe();
    for (const int fd : {file.fd(), pipe.read_end(), pipe.write_end()}) {
        EXPECT_THROW(static_cast<void>(net::tcp_stream::adopt(fd)), std::system_error);
        EXPECT_THROW(static_cast<void>(net::unix_stream::adopt(fd)), std::system_error);
        EXPECT_THROW(static_cast<void>(net::unix_listener::adopt(fd)), std::system_error);
        EXPECT_THROW(static_cast<void>(net::udp_socket::adopt(fd)), std::system_error);
        EXPECT_EQ(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0) << "it is as it was";
    }
}

}  // namespace
}  // namespace weft::test
