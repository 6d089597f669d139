// Calls of libc by green threads and by plain threads: what they return, and that others run
// meanwhile.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/resources.h"
#include "support/temp_folder.h"

namespace weft::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

using Hooks = procs_test;
WEFT_SWEEP(Hooks);

// Two connected descriptors, closed at the end.
class fd_pair {
public:
    enum class kind { sockets, pipe, tcp };

    explicit fd_pair(kind what = kind::sockets) {
        switch (what) {
            case kind::sockets:
                EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0);
                break;
            case kind::pipe:
                EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
                break;
            case kind::tcp: {
                const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
                sockaddr_in at{};
                at.sin_family = AF_INET;
                at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
                socklen_t size = sizeof at;
                EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&at), size), 0);
                EXPECT_EQ(::listen(listener, 1), 0);
                EXPECT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size), 0);
                ends_[0] = ::socket(AF_INET, SOCK_STREAM, 0);
                EXPECT_EQ(::connect(ends_[0], reinterpret_cast<sockaddr*>(&at), size), 0);
                ends_[1] = ::accept(listener, nullptr, nullptr);
                ::close(listener);
                break;
            }
        }
    }

    ~fd_pair() {
        close_reader();
        close_writer();
    }

    fd_pair(const fd_pair&) = delete;
    fd_pair& operator=(const fd_pair&) = delete;

    [[nodiscard]] int reader() const { return ends_[0]; }

    [[nodiscard]] int writer() const { return ends_[1]; }

    // Its descriptors are closed already.
    void forget() { ends_ = {-1, -1}; }

    void close_reader() { close_one(0); }

    void close_writer() { close_one(1); }

private:
    void close_one(std::size_t i) {
        if (ends_[i] >= 0) ::close(std::exchange(ends_[i], -1));
    }

    std::array<int, 2> ends_{-1, -1};
};

// Green threads that end before it does.
class group {
public:
    group() = default;

    ~group() { wait(); }

    group(const group&) = delete;
    group& operator=(const group&) = delete;

    template <typename F>
    void go(F f) {
        all_.go(std::move(f));
    }

    void wait() { all_.wait(); }

private:
    wait_group all_;
};

// A result and errno, as they were on the caller's thread directly after the call.
struct outcome {
    ssize_t result = -2;
    int error = 0;

    bool operator==(const outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const outcome& o) {
    return out << o.result << " (" << (o.error == 0 ? "" : std::strerror(o.error)) << ')';
}

// Not inlined, so that it asks for the address of errno after the call.
[[gnu::noinline]] int error_now() { return errno; }

template <typename F>
outcome call(F f) {
    const ssize_t result = f();
    return {result, result < 0 ? error_now() : 0};
}

// A way to read up to 3 bytes, blocking: each hooked call that does.
struct reading {
    const char* name;
    ssize_t (*read)(int fd, char* into);
    bool only_sockets = false;
};

const reading readings[] = {
    {"read", [](int fd, char* into) { return ::read(fd, into, 3); }},
    {"readv",
     [](int fd, char* into) {
         const iovec parts[] = {{into, 1}, {into + 1, 2}};
         return ::readv(fd, parts, 2);
     }},
    {"recv", [](int fd, char* into) { return ::recv(fd, into, 3, 0); }, true},
    {"recvfrom", [](int fd, char* into) { return ::recvfrom(fd, into, 3, 0, nullptr, nullptr); }, true},
    {"recvmsg",
     [](int fd, char* into) {
         iovec parts[] = {{into, 2}, {into + 2, 1}};
         msghdr message{};
         message.msg_iov = parts;
         message.msg_iovlen = 2;
         return ::recvmsg(fd, &message, 0);
     },
     true},
    {"poll",
     [](int fd, char* into) {
         pollfd one{fd, POLLIN, 0};
         if (const int count = ::poll(&one, 1, -1); count != 1) return ssize_t{count < 0 ? -1 : -3};
         return ::read(fd, into, 3);
     }},
    {"ppoll",
     [](int fd, char* into) {
         pollfd one{fd, POLLIN, 0};
         const timespec long_time{600, 0};
         if (const int count = ::ppoll(&one, 1, &long_time, nullptr); count != 1) return ssize_t{count < 0 ? -1 : -3};
         return ::read(fd, into, 3);
     }},
    {"select",
     [](int fd, char* into) {
         fd_set reads;
         FD_ZERO(&reads);
         FD_SET(fd, &reads);
         if (const int count = ::select(fd + 1, &reads, nullptr, nullptr, nullptr); count != 1)
             return ssize_t{count < 0 ? -1 : -3};
         return FD_ISSET(fd, &reads) ? ::read(fd, into, 3) : -4;
     }},
    {"pselect",
     [](int fd, char* into) {
         fd_set reads;
         FD_ZERO(&reads);
         FD_SET(fd, &reads);
         if (const int count = ::pselect(fd + 1, &reads, nullptr, nullptr, nullptr, nullptr); count != 1)
             return ssize_t{count < 0 ? -1 : -3};
         return ::read(fd, into, 3);
     }},
    {"epoll_wait",
     [](int fd, char* into) {
         const int all = ::epoll_create1(EPOLL_CLOEXEC);
         epoll_event event{};
         event.events = EPOLLIN;
         ::epoll_ctl(all, EPOLL_CTL_ADD, fd, &event);
         const int count = ::epoll_wait(all, &event, 1, -1);
         const int error = error_now();
         ::close(all);
         errno = error;
         return count == 1 ? ::read(fd, into, 3) : ssize_t{count < 0 ? -1 : -3};
     }},
};

// Each way with each kind of descriptor.
template <typename F>
void for_each_reading(F f) {
    using kind = fd_pair::kind;
    for (const reading& way : readings) {
        for (const kind what : {kind::sockets, kind::pipe, kind::tcp}) {
            if (what == kind::pipe && way.only_sockets) continue;
            SCOPED_TRACE(std::string(way.name) + (what == kind::pipe ? " of a pipe" : " of a socket"));
            f(way, what);
        }
    }
}

}  // namespace

// The point of all: with one P, the other green thread must run while the first one waits, and on
// the same OS thread.
TEST_P(Hooks, OthersRunWhileOneReads) {
    for_each_reading([&](const reading& way, fd_pair::kind what) {
        fd_pair ends(what);
        char got[4] = {};
        outcome o;
        int reads_on = 0;
        int writes_on = 0;
        rt().run([&] {
            group s;
            s.go([&] {
                reads_on = os_thread_id();
                o = call([&] { return way.read(ends.reader(), got); });
            });
            while (reads_on == 0) yield();
            for (int i = 0; i < 20; ++i) yield();
            writes_on = os_thread_id();
            EXPECT_EQ(::write(ends.writer(), "abc", 3), 3);
        });
        EXPECT_EQ(o, (outcome{3, 0}));
        EXPECT_STREQ(got, "abc");
        if (procs() == 1) {
            EXPECT_EQ(reads_on, writes_on) << "the reader has blocked its OS thread";
        }
    });
}

TEST_P(Hooks, AnOsThreadIsNotBlocked) {
    // Far more readers than OS threads that a runtime would make.
    constexpr int readers = 200;
    std::vector<std::unique_ptr<fd_pair>> pairs;
    for (int i = 0; i < readers; ++i)
        pairs.push_back(std::make_unique<fd_pair>(i % 2 == 0 ? fd_pair::kind::sockets : fd_pair::kind::pipe));
    std::atomic<int> sum{0};
    std::size_t threads = 0;
    rt().run([&] {
        group s;
        for (auto& pair : pairs) {
            s.go([&] {
                char c = 0;
                if (::read(pair->reader(), &c, 1) == 1) sum += c;
            });
        }
        for (int i = 0; i < 50; ++i) yield();
        weft::sleep_for(20ms);
        threads = resources::now().threads;
        for (auto& pair : pairs) EXPECT_EQ(::write(pair->writer(), "\1", 1), 1);
    });
    EXPECT_EQ(sum, readers);
    EXPECT_LT(threads, 64U + 40U) << "a reader has blocked an OS thread";
}

TEST_P(Hooks, PlainThreadsBlockAsBefore) {
    for_each_reading([&](const reading& way, fd_pair::kind what) {
        fd_pair ends(what);
        char got[4] = {};
        outcome o;
        std::thread reader([&] { o = call([&] { return way.read(ends.reader(), got); }); });
        std::this_thread::sleep_for(1ms);
        EXPECT_EQ(::write(ends.writer(), "abc", 3), 3);
        reader.join();
        EXPECT_EQ(o, (outcome{3, 0}));
    });
}

TEST_P(Hooks, NonblockingDescriptorsSayEagain) {
    for_each_reading([&](const reading& way, fd_pair::kind what) {
        if (std::string(way.name).find("poll") != std::string::npos ||
            std::string(way.name).find("select") != std::string::npos)
            return;
        fd_pair ends(what);
        outcome by_fcntl;
        outcome by_ioctl;
        rt().run([&] {
            char got[4] = {};
            ASSERT_EQ(::fcntl(ends.reader(), F_SETFL, ::fcntl(ends.reader(), F_GETFL) | O_NONBLOCK), 0);
            by_fcntl = call([&] { return way.read(ends.reader(), got); });
            int on = 0;
            ::ioctl(ends.reader(), FIONBIO, &on);
            on = 1;
            ::ioctl(ends.reader(), FIONBIO, &on);
            by_ioctl = call([&] { return way.read(ends.reader(), got); });
        });
        EXPECT_EQ(by_fcntl, (outcome{-1, EAGAIN}));
        EXPECT_EQ(by_ioctl, (outcome{-1, EAGAIN}));
    });
}

TEST_P(Hooks, DescriptorsStayAsTheProgramHasSetThem) {
    fd_pair ends;
    rt().run([&] {
        group s;
        s.go([&] {
            char c = 0;
            EXPECT_EQ(::read(ends.reader(), &c, 1), 1);
        });
        s.go([&] {
            for (int i = 0; i < 10; ++i) yield();
            EXPECT_EQ(::fcntl(ends.reader(), F_GETFL) & O_NONBLOCK, 0);
            EXPECT_EQ(::fcntl(ends.writer(), F_GETFL) & O_NONBLOCK, 0);
            EXPECT_EQ(::write(ends.writer(), "x", 1), 1);
        });
    });
}

TEST_P(Hooks, TimeoutsOfTheSocketHold) {
    fd_pair ends;
    const timeval limit{0, 20'000};
    ASSERT_EQ(::setsockopt(ends.reader(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    ASSERT_EQ(::setsockopt(ends.writer(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), 0);
    outcome received;
    ssize_t sent = 0;
    outcome sent_after;
    steady_clock::duration took{};
    rt().run([&] {
        char c = 0;
        const auto before = steady_clock::now();
        received = call([&] { return ::recv(ends.reader(), &c, 1, 0); });
        took = steady_clock::now() - before;
        const std::vector<char> much(4'000'000);
        sent = ::write(ends.writer(), much.data(), much.size());
        sent_after = call([&] { return ::write(ends.writer(), much.data(), much.size()); });
    });
    EXPECT_EQ(received, (outcome{-1, EAGAIN}));
    EXPECT_GE(took, 20ms);
    EXPECT_GT(sent, 0) << "what has gone out counts";
    EXPECT_LT(sent, 4'000'000);
    EXPECT_EQ(sent_after, (outcome{-1, EAGAIN}));
}

TEST_P(Hooks, TimeoutsOfWaitsHold) {
    fd_pair ends;
    rt().run([&] {
        const auto before = steady_clock::now();
        pollfd one{ends.reader(), POLLIN, 0};
        EXPECT_EQ(::poll(&one, 1, 5), 0);
        const timespec t{0, 5'000'000};
        EXPECT_EQ(::ppoll(&one, 1, &t, nullptr), 0);
        fd_set reads;
        FD_ZERO(&reads);
        FD_SET(ends.reader(), &reads);
        timeval tv{0, 5'000};
        EXPECT_EQ(::select(ends.reader() + 1, &reads, nullptr, nullptr, &tv), 0);
        EXPECT_FALSE(FD_ISSET(ends.reader(), &reads));
        EXPECT_EQ(tv.tv_usec, 0);
        EXPECT_EQ(::poll(nullptr, 0, 5), 0);
        const int all = ::epoll_create1(EPOLL_CLOEXEC);
        epoll_event event{};
        EXPECT_EQ(::epoll_wait(all, &event, 1, 5), 0);
        ::close(all);
        EXPECT_GE(steady_clock::now() - before, 25ms);
    });
}

// Everything is sent, in order, through a buffer that is much smaller.
TEST_P(Hooks, BlockingWritesSendAll) {
    using kind = fd_pair::kind;
    for (const kind what : {kind::sockets, kind::pipe, kind::tcp}) {
        const bool is_pipe = what == kind::pipe;
        for (int way = 0; way < (is_pipe ? 2 : 5); ++way) {
            SCOPED_TRACE(way);
            fd_pair ends(what);
            std::vector<char> sent(3'000'001);
            for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7 + i / 251);
            std::vector<char> got;
            ssize_t result = 0;
            rt().run([&] {
                group s;
                s.go([&] {
                    iovec parts[] = {{sent.data(), 1'000'003}, {sent.data() + 1'000'003, sent.size() - 1'000'003}};
                    msghdr message{};
                    message.msg_iov = parts;
                    message.msg_iovlen = 2;
                    const int fd = ends.writer();
                    result = way == 0   ? ::write(fd, sent.data(), sent.size())
                             : way == 1 ? ::writev(fd, parts, 2)
                             : way == 2 ? ::send(fd, sent.data(), sent.size(), 0)
                             : way == 3 ? ::sendto(fd, sent.data(), sent.size(), 0, nullptr, 0)
                                        : ::sendmsg(fd, &message, 0);
                    ends.close_writer();
                });
                s.go([&] {
                    std::vector<char> part(70'000);
                    for (;;) {
                        const ssize_t n = ::read(ends.reader(), part.data(), part.size());
                        if (n <= 0) break;
                        got.insert(got.end(), part.begin(), part.begin() + n);
                    }
                });
            });
            EXPECT_EQ(result, static_cast<ssize_t>(sent.size()));
            EXPECT_TRUE(got == sent);
        }
    }
}

TEST_P(Hooks, WaitallWaitsForAll) {
    fd_pair ends;
    char got[7] = {};
    ssize_t result = 0;
    rt().run([&] {
        group s;
        s.go([&] { result = ::recv(ends.reader(), got, 6, MSG_WAITALL); });
        s.go([&] {
            for (const char* part : {"ab", "cd", "ef"}) {
                for (int i = 0; i < 5; ++i) yield();
                EXPECT_EQ(::send(ends.writer(), part, 2, 0), 2);
            }
        });
    });
    EXPECT_EQ(result, 6);
    EXPECT_STREQ(got, "abcdef");
}

TEST_P(Hooks, ConnectAndAcceptPark) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&at), size), 0);
    ASSERT_EQ(::listen(listener, 64), 0);
    ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size), 0);
    constexpr int clients = 50;
    std::atomic<int> echoed{0};
    rt().run([&] {
        group s;
        for (int i = 0; i < clients; ++i) {
            s.go([&] {
                sockaddr_in from{};
                socklen_t from_size = sizeof from;
                const int fd = ::accept(listener, reinterpret_cast<sockaddr*>(&from), &from_size);
                EXPECT_GE(fd, 0);
                EXPECT_EQ(from_size, sizeof from);
                EXPECT_EQ(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
                char c = 0;
                EXPECT_EQ(::read(fd, &c, 1), 1);
                EXPECT_EQ(::write(fd, &c, 1), 1);
                ::close(fd);
            });
        }
        for (int i = 0; i < 10; ++i) yield();
        for (int i = 0; i < clients; ++i) {
            s.go([&] {
                const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
                EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
                EXPECT_EQ(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
                EXPECT_EQ(::write(fd, "x", 1), 1);
                char c = 0;
                if (::read(fd, &c, 1) == 1 && c == 'x') ++echoed;
                ::close(fd);
            });
        }
    });
    EXPECT_EQ(echoed, clients);
    ::close(listener);
    outcome refused;
    rt().run([&] {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        refused = call([&] { return ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at); });
        ::close(fd);
    });
    EXPECT_EQ(refused, (outcome{-1, ECONNREFUSED}));
}

// The waiter must wake, say EBADF, and not read from the file that has the number next.
TEST_P(Hooks, ACloseWakesTheWaiter) {
    for_each_reading([&](const reading& way, fd_pair::kind what) {
        // The system's own calls keep an epoll set, or a poll, of a closed file.
        if (std::string(way.name) == "epoll_wait") return;
        fd_pair ends(what);
        fd_pair other(what);
        outcome o;
        char got[4] = {};
        rt().run([&] {
            const int fd = ends.reader();
            std::atomic<bool> begun{false};
            group s;
            s.go([&] {
                begun = true;
                o = call([&] { return way.read(fd, got); });
            });
            s.go([&] {
                while (!begun) yield();
                weft::sleep_for(2ms);
                EXPECT_EQ(::write(other.writer(), "xyz", 3), 3);
                const std::string name = way.name;
                if (name.find("poll") != std::string::npos || name.find("select") != std::string::npos) {
                    ends.close_reader();  // without another file, or the poll would go on with that
                } else {
                    EXPECT_EQ(::dup2(other.reader(), ends.reader()), ends.reader());
                }
            });
        });
        EXPECT_EQ(o, (outcome{-1, EBADF}));  // after poll(), which finds POLLNVAL, read() says it
    });
}

// As fclose() and system calls by other ways do it: the number is closed without notice, and means
// another file, which must be waited for.
TEST_P(Hooks, ANumberThatWasClosedUnnoticedIsWaitedForAgain) {
    rt().run([&] {
        for (int round = 0; round < 10; ++round) {
            const auto ends = std::make_unique<fd_pair>(round % 2 == 0 ? fd_pair::kind::sockets : fd_pair::kind::pipe);
            char c = 0;
            group s;
            s.go([&] { EXPECT_EQ(::read(ends->reader(), &c, 1), 1); });
            for (int i = 0; i < 10; ++i) yield();
            EXPECT_EQ(::write(ends->writer(), "x", 1), 1);
            s.wait();
            EXPECT_EQ(c, 'x');
            // Not by the functions of the C library, which the hooks see. The next round has the
            // same numbers.
            ::syscall(SYS_close, ends->reader());
            ::syscall(SYS_close, ends->writer());
            ends->forget();
        }
    });
}

TEST_P(Hooks, CancellationEndsWaits) {
    for_each_reading([&](const reading& way, fd_pair::kind what) {
        fd_pair ends(what);
        char got[4] = {};
        outcome cancelled_one;
        outcome expired;
        rt().run([&] {
            weft::scope([&](task_scope& s) {
                s.go([&] { cancelled_one = call([&] { return way.read(ends.reader(), got); }); });
                weft::sleep_for(1ms);
                s.cancel();
            });
            with_timeout(1ms, [&] { expired = call([&] { return way.read(ends.reader(), got); }); });
        });
        EXPECT_EQ(cancelled_one, (outcome{-1, ECANCELED}));
        EXPECT_EQ(expired, (outcome{-1, ETIMEDOUT}));
    });
}

TEST_P(Hooks, SleepsPark) {
    rt().run([&] {
        const auto before = steady_clock::now();
        {
            group s;
            for (int i = 0; i < 100; ++i) {
                s.go([] { EXPECT_EQ(::usleep(20'000), 0); });
                s.go([] {
                    const timespec t{0, 20'000'000};
                    EXPECT_EQ(::nanosleep(&t, nullptr), 0);
                });
                s.go([] {
                    timespec t{};
                    ::clock_gettime(CLOCK_MONOTONIC, &t);
                    t.tv_nsec += 20'000'000;
                    if (t.tv_nsec >= 1'000'000'000) {
                        ++t.tv_sec;
                        t.tv_nsec -= 1'000'000'000;
                    }
                    EXPECT_EQ(::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr), 0);
                });
                s.go([] { std::this_thread::sleep_for(20ms); });
            }
        }
        const auto took = steady_clock::now() - before;
        EXPECT_GE(took, 20ms);
        EXPECT_LT(took, 4s) << "400 sleeps one after the other would take 8 s";
        EXPECT_EQ(::sleep(0), 0U);
        timespec invalid{0, -1};
        EXPECT_EQ(call([&] { return ::nanosleep(&invalid, nullptr); }), (outcome{-1, EINVAL}));
    });
}

TEST_P(Hooks, ACancelledSleepSaysWhatIsLeft) {
    unsigned left = 0;
    outcome o;
    timespec rest{};
    rt().run([&] {
        weft::scope([&](task_scope& s) {
            s.go([&] { left = ::sleep(1000); });
            s.go([&] {
                const timespec t{1000, 0};
                o = call([&] { return ::nanosleep(&t, &rest); });
            });
            for (int i = 0; i < 10; ++i) yield();
            weft::sleep_for(1ms);
            s.cancel();
        });
    });
    EXPECT_GT(left, 900U);
    EXPECT_EQ(o, (outcome{-1, ECANCELED}));
    EXPECT_GT(rest.tv_sec, 900);
}

TEST_P(Hooks, EventCountersAndFiles) {
    const temp_folder folder;
    rt().run([&] {
        const int event = ::eventfd(0, EFD_CLOEXEC);
        uint64_t value = 0;
        group s;
        s.go([&] { EXPECT_EQ(::read(event, &value, sizeof value), ssize_t{sizeof value}); });
        for (int i = 0; i < 10; ++i) yield();
        const uint64_t five = 5;
        EXPECT_EQ(::write(event, &five, sizeof five), ssize_t{sizeof five});
        s.wait();
        EXPECT_EQ(value, 5U);
        ::close(event);
        const int file = ::open((folder / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        EXPECT_EQ(::write(file, "hello", 5), 5);
        EXPECT_EQ(::lseek(file, 0, SEEK_SET), 0);
        char got[6] = {};
        EXPECT_EQ(::read(file, got, 5), 5);
        EXPECT_STREQ(got, "hello");
        EXPECT_EQ(::read(file, got, 5), 0);
        const int again = ::open((folder / "f").c_str(), O_RDWR | O_CLOEXEC);
        EXPECT_EQ(::flock(file, LOCK_EX), 0);
        EXPECT_EQ(call([&] { return ::flock(again, LOCK_EX | LOCK_NB); }), (outcome{-1, EWOULDBLOCK}));
        group locks;
        locks.go([&] { EXPECT_EQ(::flock(again, LOCK_EX), 0); });
        for (int i = 0; i < 10; ++i) yield();
        EXPECT_EQ(::flock(file, LOCK_UN), 0);
        locks.wait();
        ::close(again);
        ::close(file);
    });
}

TEST_P(Hooks, ErrorsAreThoseOfTheCall) {
    rt().run([&] {
        char c = 0;
        EXPECT_EQ(call([&] { return ::read(-1, &c, 1); }), (outcome{-1, EBADF}));
        EXPECT_EQ(call([&] { return ::recv(-1, &c, 1, 0); }), (outcome{-1, EBADF}));
        pollfd one{10'000, POLLIN, 0};
        EXPECT_EQ(::poll(&one, 1, 1000), 1);
        EXPECT_EQ(one.revents, POLLNVAL);
        fd_pair ends(fd_pair::kind::pipe);
        EXPECT_EQ(call([&] { return ::recv(ends.reader(), &c, 1, 0); }), (outcome{-1, ENOTSOCK}));
        EXPECT_EQ(call([&] { return ::read(ends.writer(), &c, 1); }), (outcome{-1, EBADF}));
        EXPECT_EQ(::read(ends.reader(), &c, 0), 0);
        ends.close_writer();
        EXPECT_EQ(::read(ends.reader(), &c, 1), 0) << "the end";
        fd_pair sockets;
        sockets.close_reader();
        EXPECT_EQ(call([&] { return ::send(sockets.writer(), "x", 1, MSG_NOSIGNAL); }), (outcome{-1, EPIPE}));
    });
}

TEST_P(Hooks, APeerThatClosesEndsTheRead) {
    for_each_reading([&](const reading& way, fd_pair::kind what) {
        fd_pair ends(what);
        outcome o;
        char got[4] = {};
        rt().run([&] {
            group s;
            s.go([&] { o = call([&] { return way.read(ends.reader(), got); }); });
            for (int i = 0; i < 10; ++i) yield();
            ends.close_writer();
        });
        EXPECT_EQ(o, (outcome{0, 0}));
    });
}

TEST_P(Hooks, SeveralReadersOfOneDescriptor) {
    fd_pair ends;
    std::atomic<int> sum{0};
    constexpr int readers = 32;
    rt().run([&] {
        group s;
        for (int i = 0; i < readers; ++i) {
            s.go([&] {
                char c = 0;
                for (int n = 0; n < 10; ++n) {
                    if (::read(ends.reader(), &c, 1) == 1) sum += c;
                }
            });
        }
        const std::string all(readers * 10 / 4, '\1');
        for (int i = 0; i < 4; ++i) {
            for (int k = 0; k < 10; ++k) yield();
            EXPECT_EQ(::write(ends.writer(), all.data(), all.size()), static_cast<ssize_t>(all.size()));
        }
    });
    EXPECT_EQ(sum, readers * 10);
}

TEST_P(Hooks, DuplicatesAndDescriptorsPassedInMessages) {
    fd_pair ends;
    fd_pair way;
    rt().run([&] {
        group s;
        const int copy = ::dup(ends.reader());
        char a = 0;
        char b = 0;
        s.go([&] { EXPECT_EQ(::read(copy, &a, 1), 1); });
        s.go([&] {
            // Receives a descriptor, and reads from it.
            alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
            char byte = 0;
            iovec part{&byte, 1};
            msghdr message{};
            message.msg_iov = &part;
            message.msg_iovlen = 1;
            message.msg_control = control;
            message.msg_controllen = sizeof control;
            EXPECT_EQ(::recvmsg(way.reader(), &message, MSG_CMSG_CLOEXEC), 1);
            const cmsghdr* header = CMSG_FIRSTHDR(&message);
            ASSERT_NE(header, nullptr);
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
            EXPECT_EQ(::read(fd, &b, 1), 1);
            ::close(fd);
        });
        for (int i = 0; i < 10; ++i) yield();
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        char byte = 'x';
        iovec part{&byte, 1};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        const int passed = ends.reader();
        std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
        EXPECT_EQ(::sendmsg(way.writer(), &message, 0), 1);
        for (int i = 0; i < 10; ++i) yield();
        EXPECT_EQ(::write(ends.writer(), "pq", 2), 2);
        s.wait();
        EXPECT_EQ(a + b, 'p' + 'q');
        ::close(copy);
    });
}

TEST_P(Hooks, ChildrenAreWaitedFor) {
    outcome o;
    int status = 0;
    int turns = 0;
    rt().run([&] {
        const pid_t child = ::fork();
        if (child == 0) {
            const timespec t{0, 20'000'000};
            ::nanosleep(&t, nullptr);
            ::_exit(7);
        }
        std::atomic<bool> ended{false};
        group s;
        s.go([&] {
            o = call([&] { return ::waitpid(child, &status, 0) == child ? 1 : -1; });
            ended = true;
        });
        s.go([&] {
            while (!ended) {
                weft::sleep_for(1ms);
                ++turns;
            }
        });
    });
    EXPECT_EQ(o, (outcome{1, 0}));
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_GT(turns, 3);
}

// A child of vfork() shares the memory: what it closes is not closed here.
TEST_P(Hooks, AChildThatClosesBeforeExecChangesNothing) {
    fd_pair ends;
    outcome o;
    char c = 0;
    rt().run([&] {
        group s;
        s.go([&] { o = call([&] { return ::read(ends.reader(), &c, 1); }); });
        for (int i = 0; i < 10; ++i) yield();
        weft::sleep_for(1ms);
        const pid_t child = ::vfork();
        if (child == 0) {
            ::close(ends.reader());
            ::_exit(0);
        }
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(::write(ends.writer(), "x", 1), 1);
    });
    EXPECT_EQ(o, (outcome{1, 0}));
}

// The child's runtime waits for descriptors that the parent's poller has.
TEST_P(Hooks, AChildWaitsWithItsOwnPoller) {
    fd_pair ends;
    const auto exchange = [&] {
        group s;
        char c = 0;
        s.go([&] { EXPECT_EQ(::read(ends.reader(), &c, 1), 1); });
        for (int i = 0; i < 10; ++i) yield();
        EXPECT_EQ(::write(ends.writer(), "x", 1), 1);
        s.wait();
        return c == 'x';
    };
    rt().run([&] { EXPECT_TRUE(exchange()); });
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        bool passed = false;
        runtime mine({.procs = 1});
        mine.run([&] { passed = exchange(); });
        ::_exit(passed ? 7 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), 7);
    rt().run([&] { EXPECT_TRUE(exchange()); });
}

TEST_P(Hooks, NamesAreLookedUp) {
    rt().run([&] {
        addrinfo* found = nullptr;
        addrinfo hints{};
        hints.ai_socktype = SOCK_STREAM;
        ASSERT_EQ(::getaddrinfo("127.0.0.1", "80", &hints, &found), 0);
        EXPECT_EQ(found->ai_family, AF_INET);
        ::freeaddrinfo(found);
    });
}

TEST_P(Hooks, BlockingCallsAreNotCaught) {
    fd_pair ends;
    rt().run([&] {
        group s;
        s.go([&] {
            char c = 0;
            const ssize_t n = weft::blocking([&] {
                EXPECT_EQ(this_g::id(), 0U);
                return ::read(ends.reader(), &c, 1);
            });
            EXPECT_EQ(n, 1);
        });
        weft::sleep_for(2ms);
        EXPECT_EQ(::write(ends.writer(), "x", 1), 1);
    });
}

// The sockets of weft go through the same functions, and are non-blocking.
TEST_P(Hooks, SocketsOfWeftAreAsEver) {
    rt().run([&] {
        net::tcp_listener l("127.0.0.1:0");
        group s;
        s.go([&] {
            net::tcp_stream peer = l.accept();
            char text[5];
            std::size_t n = 0;
            while (n < sizeof text) n += peer.read_some({text + n, sizeof text - n});
            peer.write_all(std::string_view(text, sizeof text));
        });
        net::tcp_stream mine = net::tcp_stream::connect(l.local_endpoint());
        mine.write_all(std::string_view("hello"));
        char got[6] = {};
        std::size_t n = 0;
        while (n < 5) n += mine.read_some({got + n, 5 - n});
        EXPECT_STREQ(got, "hello");
    });
}

}  // namespace weft::test
