// network_test.cc: the network of a simulation: what arrives, when, in which order, and what fails.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/resolve.h>
#include <weft/net/tcp.h>
#include <weft/net/udp.h>
#include <weft/net/unix.h>
#include <weft/process.h>
#include <weft/signals.h>
#include <weft/sim/network.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "sim/check.h"

namespace weft {
namespace {

using test::check;

using namespace std::chrono_literals;
using net::endpoint;
using sim::verdict;
using clock = std::chrono::steady_clock;

void passes(const std::function<void()>& body, uint64_t schedules = 200) {
    const sim::report r = sim::explore({.schedules = schedules}, body);
    EXPECT_EQ(r.result, verdict::passed) << r.text();
    const sim::report again = sim::check_repeatable({.seed = 2, .schedules = schedules}, body);
    EXPECT_EQ(again.result, verdict::passed) << again.text();
}

// With a clock that moves only while all wait.
void passes_in_time(const std::function<void()>& body, uint64_t schedules = 200) {
    const sim::report r = sim::explore({.schedules = schedules, .lateness = 0ns}, body);
    EXPECT_EQ(r.result, verdict::passed) << r.text();
    const sim::report again = sim::check_repeatable({.seed = 2, .schedules = schedules, .lateness = 0ns}, body);
    EXPECT_EQ(again.result, verdict::passed) << again.text();
}

std::string read_all(net::tcp_stream& s) {
    std::string all;
    char part[1000];
    while (const std::size_t n = s.read_some(part)) all.append(part, n);
    return all;
}

// The virtual time that f takes.
template <typename F>
clock::duration time_of(F f) {
    const clock::time_point begin = clock::now();
    f();
    return clock::now() - begin;
}

TEST(SimulatedNetwork, EchoesOnLoopback) {
    passes([] {
        net::tcp_listener l(endpoint::loopback(0));
        check(l.local_endpoint().port() >= 49152, "no port was chosen");
        wait_group server;
        server.go([&] {
            net::tcp_stream s = l.accept();
            const std::string all = read_all(s);
            s.write_all(all);
        });
        net::tcp_stream c = net::tcp_stream::connect(l.local_endpoint());
        check(c.remote_endpoint() == l.local_endpoint(), "another remote endpoint");
        c.write_all(std::string_view("hello "));
        c.write_all(std::string_view("world"));
        c.shutdown_send();
        check(read_all(c) == "hello world", "another echo");
        server.wait();
    });
}

TEST(SimulatedNetwork, UsesNoDescriptorOfTheSystem) {
    passes(
        [] {
            const net::tcp_listener l(endpoint::loopback(0));
            check(::fcntl(l.native_handle(), F_GETFD) == -1 && errno == EBADF, "a descriptor of the system");
        },
        1);
}

TEST(SimulatedNetwork, TakesTheLatencyAndNoMore) {
    passes_in_time([] {
        const sim::network net({.latency = 10ms});
        net::tcp_listener l = net.listen("srv:80");
        wait_group server;
        server.go([&] {
            net::tcp_stream s = l.accept();
            char byte = 0;
            static_cast<void>(s.read({&byte, 1}));
            s.write_all({&byte, 1});
        });
        net::tcp_stream c;
        check(time_of([&] { c = net.dial("srv:80"); }) == 20ms, "a connection takes two ways");
        check(c.remote_endpoint() == net.find("srv").address().with_port(80), "another address");
        char byte = 'x';
        check(time_of([&] {
                  c.write_all({&byte, 1});
                  static_cast<void>(c.read({&byte, 1}));
              }) == 20ms,
              "an answer takes two ways");
        server.wait();
    });
}

TEST(SimulatedNetwork, LimitsBytesPerSecond) {
    passes_in_time(
        [] {
            const sim::network net({.bytes_per_second = 1'000'000});
            net::tcp_listener l = net.listen("srv:80");
            wait_group server;
            server.go([&] {
                net::tcp_stream s = l.accept();
                read_all(s);
            });
            net::tcp_stream c = net.dial("srv:80");
            const std::string megabyte(1'000'000, 'x');
            const auto took = time_of([&] {
                c.write_all(megabyte);
                c.close();
                server.wait();
            });
            check(took >= 999ms && took <= 1001ms, "a megabyte does not take a second");
        },
        5);
}

TEST(SimulatedNetwork, MakesWritersWaitForReaders) {
    passes([] {
        const sim::network net({.window = 1000});
        net::tcp_listener l = net.listen("srv:80");
        wait_group server;
        net::tcp_stream c = net.dial("srv:80");
        net::tcp_stream s = l.accept();
        server.go([&] {
            sleep_for(1s);
            check(read_all(s) == std::string(5000, 'x'), "other bytes");
        });
        const std::string bytes(5000, 'x');
        check(time_of([&] { c.write_all(bytes); }) >= 1s, "the writer has not waited");
        c.close();
        server.wait();
    });
}

TEST(SimulatedNetwork, RefusesAPortWithoutAListener) {
    passes([] {
        std::error_code ec;
        const net::tcp_stream s = net::tcp_stream::connect(endpoint::loopback(81), ec);
        check(ec == std::errc::connection_refused, "not refused");
    });
}

TEST(SimulatedNetwork, ReportsAnAddressThatIsTaken) {
    passes([] {
        const net::tcp_listener l(endpoint("0.0.0.0:80"));
        try {
            const net::tcp_listener second(endpoint::loopback(80));
            check(false, "bound twice");
        } catch (const std::system_error& e) {
            check(e.code() == std::errc::address_in_use, "another error");
        }
        const sim::network net;
        const net::tcp_listener elsewhere = net.listen("srv:80");
    });
}

TEST(SimulatedNetwork, FindsHostsByName) {
    passes([] {
        const sim::network net;
        const sim::host srv = net.add_host("srv");
        check(net::resolve("srv:80") == std::vector{srv.address().with_port(80)}, "another address");
        check(net::resolve("localhost:80") == std::vector{endpoint::loopback(80)}, "another address of localhost");
        std::error_code ec;
        check(net::resolve("missing:80", ec).empty() && ec == net::resolve_errc::not_found,
              "found a host that does not exist");
    });
}

TEST(SimulatedNetwork, ReadsStopAtDeadlines) {
    passes([] {
        net::tcp_listener l(endpoint::loopback(80));
        net::tcp_stream c = net::tcp_stream::connect(endpoint::loopback(80));
        net::tcp_stream s = l.accept();
        char byte = 0;
        std::error_code ec;
        check(time_of([&] {
                  s.set_read_deadline(clock::now() + 24h);
                  static_cast<void>(s.read_some({&byte, 1}, ec));
              }) > 23h,
              "no wait");
        check(ec == errc::timed_out, "not timed out");
    });
}

TEST(SimulatedNetwork, CloseWakesWaiters) {
    passes([] {
        net::tcp_listener l(endpoint::loopback(80));
        wait_group accepting;
        accepting.go([&] {
            std::error_code ec;
            const net::tcp_stream s = l.accept(ec);
            check(ec == errc::closed, "not closed");
        });
        sleep_for(1ms);
        l.close();
        accepting.wait();
    });
}

TEST(SimulatedNetwork, AnswersBytesForAClosedPeerWithAReset) {
    passes([] {
        net::tcp_listener l(endpoint::loopback(80));
        net::tcp_stream c = net::tcp_stream::connect(endpoint::loopback(80));
        l.accept().close();
        std::error_code ec;
        char bytes[10] = {};
        check(c.read_some(bytes, ec) == 0 && !ec, "the end is no error");
        c.write_all(bytes, ec);
        check(!ec, "the first write cannot know");
        sleep_for(1ms);
        c.write_all(bytes, ec);
        check(ec == std::errc::connection_reset, "no reset");
        c.write_all(bytes, ec);
        check(ec == std::errc::broken_pipe, "no broken pipe");
    });
}

TEST(SimulatedNetwork, UnreadBytesResetThePeer) {
    passes([] {
        net::tcp_listener l(endpoint::loopback(80));
        net::tcp_stream c = net::tcp_stream::connect(endpoint::loopback(80));
        net::tcp_stream s = l.accept();
        c.write_all(std::string_view("unread"));
        sleep_for(1ms);
        s.close();
        char byte = 0;
        std::error_code ec;
        static_cast<void>(c.read_some({&byte, 1}, ec));
        check(ec == std::errc::connection_reset, "no reset");
    });
}

TEST(SimulatedNetwork, SplitsWhatIsWrittenAtOnce) {
    bool whole = false;
    bool parted = false;
    passes(
        [&] {
            net::tcp_listener l(endpoint::loopback(80));
            net::tcp_stream c = net::tcp_stream::connect(endpoint::loopback(80));
            net::tcp_stream s = l.accept();
            c.write_all(std::string_view("abcdef"));
            char bytes[6];
            const std::size_t n = s.read_some(bytes);
            (n == 6 ? whole : parted) = true;
            static_cast<void>(s.read({bytes, 6 - n}));
        },
        500);
    EXPECT_TRUE(whole);
    EXPECT_TRUE(parted);
}

TEST(SimulatedNetwork, LosesNoByteOfAStream) {
    uint64_t lost = 0;
    passes(
        [&] {
            const sim::network net({.latency = 1ms, .jitter = 5ms, .loss = 0.3});
            net::tcp_listener l = net.listen("srv:80");
            wait_group server;
            server.go([&] {
                net::tcp_stream s = l.accept();
                const std::string all = read_all(s);
                s.write_all(all);
            });
            net::tcp_stream c = net.dial("srv:80");
            std::string sent;
            for (int i = 0; i < 50; ++i) {
                const std::string part = std::to_string(i) + ",";
                sent += part;
                c.write_all(part);
            }
            c.shutdown_send();
            check(read_all(c) == sent, "bytes were lost or moved");
            lost += net.so_far().lost;
            server.wait();
        },
        100);
    EXPECT_GT(lost, 100U);
}

TEST(SimulatedNetwork, APartitionHoldsAStreamUp) {
    passes([] {
        const sim::network net;
        net::tcp_listener l = net.listen("srv:80");
        net::tcp_stream c = net.dial("srv:80");
        net::tcp_stream s = l.accept();
        net.partition(net.local(), net.find("srv"));
        c.write_all(std::string_view("late"));
        wait_group healer;
        healer.go([&] {
            sleep_for(60s);
            net.heal();
        });
        char bytes[4];
        const auto took = time_of([&] { static_cast<void>(s.read(bytes)); });
        check(took >= 60s && took < 130s, "not after the partition");
        healer.wait();
    });
}

TEST(SimulatedNetwork, AStreamGivesUpInTheEnd) {
    passes([] {
        const sim::network net;
        net::tcp_listener l = net.listen("srv:80");
        net::tcp_stream c = net.dial("srv:80");
        const net::tcp_stream s = l.accept();
        net.partition(net.local(), net.find("srv"));
        c.write_all(std::string_view("lost"));
        char byte = 0;
        std::error_code ec;
        const auto took = time_of([&] { static_cast<void>(c.read_some({&byte, 1}, ec)); });
        check(ec == std::errc::timed_out, "another error");
        check(took > 15min && took < 20min, "another patience");
    });
}

TEST(SimulatedNetwork, AConnectionThroughAPartitionTimesOut) {
    passes([] {
        const sim::network net;
        const net::tcp_listener l = net.listen("srv:80");
        net.partition(net.local(), net.find("srv"));
        std::error_code ec;
        const auto took =
            time_of([&] { const auto c = net::tcp_stream::connect(net.find("srv").address().with_port(80), ec); });
        check(ec == std::errc::timed_out, "another error");
        check(took >= 127s && took < 300s, "another patience");
    });
}

TEST(SimulatedNetwork, CallsFailAsWanted) {
    passes([] {
        const sim::network net;
        const sim::host here = net.local();
        std::error_code ec;
        here.fail(sim::socket_call::make, std::errc::too_many_files_open);
        try {
            const net::udp_socket none(endpoint::loopback(0));
        } catch (const std::system_error& e) {
            ec = e.code();
        }
        check(ec == std::errc::too_many_files_open, "a socket was made");
        net::tcp_listener l(endpoint::loopback(0));
        net::tcp_stream c = net::tcp_stream::connect(l.local_endpoint());
        here.fail(sim::socket_call::accept, std::errc::too_many_files_open, {.times = 2});
        // It waits until there are descriptors.
        net::tcp_stream s = l.accept(ec);
        check(!ec, "not accepted");
        here.fail(sim::socket_call::send, std::errc::connection_reset, {.after = 1});
        c.write_all("a", ec);
        check(!ec, "the first did not succeed");
        c.write_all("b", ec);
        check(ec == std::errc::connection_reset, "the second succeeded");
        here.fail(sim::socket_call::receive, std::errc::io_error);
        char byte = 0;
        check(s.read_some({&byte, 1}, ec) == 0 && ec == std::errc::io_error, "received");
        check(s.read_some({&byte, 1}, ec) == 1 && byte == 'a', "lost");
        here.fail(sim::socket_call::connect, std::errc::network_unreachable);
        const auto unconnected = net::tcp_stream::connect(l.local_endpoint(), ec);
        check(ec == std::errc::network_unreachable, "connected");
    });
}

TEST(SimulatedNetwork, RulesCountTheSameCalls) {
    passes([] {
        const sim::host here = sim::network().local();
        net::udp_socket from(endpoint::loopback(0));
        here.fail(sim::socket_call::send, std::errc::connection_reset);
        here.fail(sim::socket_call::send, std::errc::network_unreachable, {.after = 1});
        std::error_code ec;
        from.send_to({"a", 1}, endpoint::loopback(53), ec);
        check(ec == std::errc::connection_reset, "the first call");
        from.send_to({"b", 1}, endpoint::loopback(53), ec);
        check(ec == std::errc::network_unreachable, "the second call");
        from.send_to({"c", 1}, endpoint::loopback(53), ec);
        check(!ec, "the third call");
    });
}

TEST(SimulatedNetwork, DatagramsAreLostDoubledAndOvertaken) {
    std::set<std::string> orders;
    passes_in_time(
        [&] {
            const sim::network net({.latency = 1ms, .jitter = 10ms, .loss = 0.2, .duplication = 0.2});
            net::udp_socket to(endpoint::loopback(53));
            net::udp_socket from(endpoint::loopback(0));
            for (const char c : {'a', 'b', 'c'}) from.send_to({&c, 1}, endpoint::loopback(53));
            sleep_for(1s);
            std::string order;
            std::error_code ec;
            to.set_read_deadline(clock::now() + 1s);
            char c = 0;
            for (;;) {
                const auto got = to.receive({&c, 1}, ec);
                if (ec) break;
                check(got.size == 1 && got.from == from.local_endpoint(), "another datagram");
                order += c;
            }
            orders.insert(order);
        },
        2000);
    EXPECT_TRUE(orders.contains(""));
    EXPECT_TRUE(orders.contains("abc"));
    EXPECT_TRUE(orders.contains("cba"));
    EXPECT_TRUE(orders.contains("aabc"));
    EXPECT_GT(orders.size(), 50U);
}

TEST(SimulatedNetwork, AConnectedDatagramSocketHearsThatNothingListens) {
    passes([] {
        net::udp_socket s = net::udp_socket::connected_to(endpoint::loopback(53));
        char byte = 0;
        s.send({&byte, 1});
        std::error_code ec;
        static_cast<void>(s.receive({&byte, 1}, ec));
        check(ec == std::errc::connection_refused, "not refused");
    });
}

TEST(SimulatedNetwork, HasUnixSockets) {
    passes([] {
        net::unix_listener l(net::unix_address("/tmp/simulated"));
        check(::access("/tmp/simulated", F_OK) != 0, "a file of the system");
        wait_group server;
        server.go([&] {
            net::unix_stream s = l.accept();
            char bytes[5];
            static_cast<void>(s.read(bytes));
            s.write_all(bytes);
        });
        net::unix_stream c = net::unix_stream::connect(net::unix_address("/tmp/simulated"));
        char bytes[5] = {'h', 'e', 'l', 'l', 'o'};
        c.write_all(bytes);
        static_cast<void>(c.read(bytes));
        server.wait();
        auto [a, b] = net::unix_datagram::pair();
        a.send(std::string_view("one"));
        a.send(std::string_view("two"));
        check(b.receive(bytes).size == 3 && bytes[0] == 'o', "not in order");
        std::error_code ec;
        const auto missing = net::unix_stream::connect(net::unix_address("@missing"), ec);
        check(ec == std::errc::no_such_file_or_directory, "another error");
    });
}

TEST(SimulatedNetwork, ACrashCancelsAndIsNoticedLate) {
    passes_in_time([] {
        const sim::network net;
        const sim::host srv = net.add_host("srv");
        bool was_cancelled = false;
        event up;
        srv.go([&] {
            net::tcp_listener l(endpoint("0.0.0.0:80"));
            go([&l] {  // it belongs to the host, too
                try {
                    static_cast<void>(l.accept());
                } catch (const cancelled&) {
                } catch (const std::system_error& e) {
                    check(e.code() == errc::closed, "another error");
                }
            });
            up.set();
            try {
                sleep_for(1h);
                check(false, "it sleeps through a crash");
            } catch (const cancelled&) {
                was_cancelled = true;
            }
        });
        up.wait();
        sleep_for(1ms);
        srv.crash();
        check(!srv.is_up(), "it is up");
        sleep_for(1ms);
        check(was_cancelled, "not cancelled");
        std::error_code ec;
        const auto c = net::tcp_stream::connect(srv.address().with_port(80), ec);
        check(ec == std::errc::timed_out, "a crashed host answers");
        srv.restart();
        const auto d = net::tcp_stream::connect(srv.address().with_port(80), ec);
        check(ec == std::errc::connection_refused, "a restarted host has a listener");
    });
}

TEST(SimulatedNetwork, ACrashEndsAnAcceptThatNothingElseEnds) {
    passes([] {
        const sim::network net;
        const sim::host srv = net.add_host("srv");
        srv.go([] {
            net::tcp_listener l(endpoint("0.0.0.0:80"));
            try {
                static_cast<void>(l.accept());
            } catch (const cancelled&) {}
        });
        sleep_for(1s);
        srv.crash();
    });
}

TEST(SimulatedNetwork, AFailureLeavesDeadlinesOnHostsBehind) {
    const sim::report r = sim::explore({.schedules = 1}, [] {
        const sim::network net;
        net.add_host("srv").go([] { with_timeout(1h, [] { sleep_for(1min); }); });
        sleep_for(1s);
        throw std::runtime_error("failed");
    });
    EXPECT_EQ(r.result, verdict::failed) << r.text();
}

TEST(SimulatedNetwork, ACancelledThatLeavesAGreenThreadOfACrashedHostIsNoFailure) {
    passes([] {
        const sim::network net;
        const sim::host srv = net.add_host("srv");
        srv.go([] { sleep_for(1h); });
        sleep_for(1s);
        srv.crash();
    });
}

TEST(SimulatedNetwork, ACancelledThatLeavesAnotherGreenThreadIsAFailure) {
    const sim::report r = sim::explore({.schedules = 1}, [] {
        const sim::network net;
        net.add_host("srv").go([] { throw cancelled(); });
        sleep_for(1s);
    });
    EXPECT_EQ(r.result, verdict::failed) << r.text();
}

TEST(SimulatedNetwork, OnlyACrashedHostRestarts) {
    passes(
        [] {
            const sim::network net;
            const sim::host srv = net.add_host("srv");
            const auto refuses = [](const sim::host& h) {
                try {
                    h.restart();
                    return false;
                } catch (const std::invalid_argument&) {
                    return true;
                }
            };
            check(refuses(srv) && refuses(net.local()), "a host that is up restarts");
            srv.crash();
            srv.crash();
            srv.restart();
            check(srv.is_up() && refuses(srv), "it restarts twice");
        },
        1);
}

TEST(SimulatedNetwork, AHostThatIsDownHasNoNewSockets) {
    passes([] {
        const sim::network net;
        const sim::host srv = net.add_host("srv");
        srv.go([] {
            try {
                sleep_for(1h);
            } catch (const cancelled&) {
                try {
                    const net::tcp_listener l(endpoint("0.0.0.0:80"));
                    check(false, "it listens");
                } catch (const std::system_error& e) {
                    check(e.code() == std::errc::network_down, "another error");
                }
            }
        });
        sleep_for(1s);
        srv.crash();
    });
}

TEST(SimulatedNetwork, RefusesWaitsForDescriptorsOfTheSystem) {
    const sim::report r = sim::explore({.schedules = 10}, [] {
        int ends[2];
        check(::pipe(ends) == 0, "no pipe");
        try {
            wait_fd(ends[0], fd_events::readable);
        } catch (...) {
            ::close(ends[0]);
            ::close(ends[1]);
            throw;
        }
    });
    EXPECT_EQ(r.result, verdict::uncontrolled);
    EXPECT_NE(r.reason.find("waits for descriptor"), std::string::npos) << r.reason;
}

TEST(SimulatedNetwork, RefusesProcessesAndSignals) {
    const sim::report p = sim::explore({.schedules = 1}, [] { static_cast<void>(run_process({"true"})); });
    EXPECT_EQ(p.result, verdict::uncontrolled);
    EXPECT_NE(p.reason.find("starts a process"), std::string::npos) << p.reason;
    const sim::report s = sim::explore({.schedules = 1}, [] { const auto all = signals::notify({SIGUSR1}); });
    EXPECT_EQ(s.result, verdict::uncontrolled);
    EXPECT_NE(s.reason.find("waits for signals"), std::string::npos) << s.reason;
}

TEST(SimulatedNetwork, RefusesOptionsThatMeanNothing) {
    passes(
        [] {
            for (const sim::network_options& how :
                 {sim::network_options{.latency = -1ns}, sim::network_options{.jitter = -1ns},
                  sim::network_options{.loss = 1.1}, sim::network_options{.duplication = -0.1},
                  sim::network_options{.window = 0}}) {
                try {
                    const sim::network net(how);
                    check(false, "accepted");
                } catch (const std::invalid_argument&) {}
            }
            const sim::network net;
            net.add_host("srv");
            for (const char* name : {"srv", "localhost", "", "10.0.0.1"}) {
                try {
                    net.add_host(name);
                    check(false, name);
                } catch (const std::invalid_argument&) {}
            }
        },
        1);
}

TEST(SimulatedNetwork, RepeatsASchedule) {
    const auto body = [] {
        const sim::network net({.latency = 1ms, .jitter = 5ms, .loss = 0.1});
        net::tcp_listener l = net.listen("srv:80");
        wait_group server;
        server.go([&] {
            net::tcp_stream s = l.accept();
            const std::string all = read_all(s);
            if (all != "ab") throw std::runtime_error("other bytes: " + all);
        });
        std::vector<char> order;
        net::tcp_stream c = net.dial("srv:80");
        wait_group writers;
        for (const char byte : {'a', 'b'}) writers.go([&c, byte] { c.write_all({&byte, 1}); });
        writers.wait();
        c.close();
        server.wait();
    };
    const sim::report found = sim::explore({.schedules = 10'000}, body);
    ASSERT_EQ(found.result, verdict::failed) << found.text();
    for (int i = 0; i < 100; ++i) {
        const sim::report again = sim::replay(found.schedule, {}, body);
        ASSERT_EQ(again.reason, found.reason);
        ASSERT_EQ(again.steps_text, found.steps_text);
    }
}

}  // namespace
}  // namespace weft
