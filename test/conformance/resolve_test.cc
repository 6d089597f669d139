// resolve_test.cc: name lookups, and connections to the first address that answers.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/resolve.h>
#include <weft/weft.h>

#include "net/lookup.h"
#include "support/eventually.h"
#include "support/held_port.h"
#include "support/outside_poller.h"
#include "support/procs_test.h"
#include "support/resources.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using net::dial;
using net::endpoint;
using net::resolve;
using net::resolve_errc;
using net::tcp_listener;
using net::tcp_stream;
using net::detail::callers_for_test;
using net::detail::lookup_result;
using net::detail::set_lookup_function;

// Replaces the system's resolver: names that are found, not found, and found when a gate opens.
//
// For a name that begins with half4 or half6, the lookup of both versions waits at the gate. So
// does the lookup of the version that is not named.
std::atomic<int> lookups = 0;
std::atomic<int> at_the_gate = 0;
std::atomic<bool> gate_open = false;
std::atomic<int> lookups_of_a_version = 0;

bool is_silent(const std::string& host, std::optional<endpoint::ip> only) {
    if (host.starts_with("half4")) return only != endpoint::ip::v4;
    if (host.starts_with("half6")) return only != endpoint::ip::v6;
    if (host.starts_with("late")) return !only;
    return host.starts_with("slow");
}

lookup_result fake(const std::string& host, std::optional<endpoint::ip> only) {
    ++lookups;
    if (only) ++lookups_of_a_version;
    if (is_silent(host, only)) {
        ++at_the_gate;
        gate_open.wait(false);
        --at_the_gate;
        if (host.ends_with("try-again")) return {{}, resolve_errc::try_again};
        if (host.starts_with("late")) return {{endpoint::loopback(0), endpoint::loopback_v6(0)}, {}};
    }
    if (host.starts_with("none")) return {{}, resolve_errc::not_found};
    lookup_result found;
    if (only != endpoint::ip::v4) found.addresses.push_back(endpoint::loopback_v6(0));
    if (only != endpoint::ip::v6) found.addresses.push_back(endpoint::loopback(0));
    return found;
}

// The same, but lookup number n, counted from 0, ends once `allowed` is greater than n. Lookups of
// localhost do not wait.
std::atomic<int> allowed = 0;
std::atomic<int> ended = 0;

lookup_result numbered(const std::string& host, std::optional<endpoint::ip>) {
    const int number = lookups++;
    if (!host.starts_with("localhost")) {
        eventually([&] { return allowed > number; });
    }
    ++ended;
    return {{endpoint::loopback(0)}, {}};
}

// One lookup for a name, however long it takes.
constexpr net::resolve_options patient{.resolution_delay = 1h};

class Resolve : public procs_test {
protected:
    Resolve() {
        lookups = 0;
        gate_open = false;
        lookups_of_a_version = 0;
        set_lookup_function(&fake);
    }

    static void numbered_lookups() {
        allowed = 0;
        ended = 0;
        set_lookup_function(&numbered);
    }

    // Starts a lookup of `host`, or joins one; its caller then gives up.
    static void give_up_one(const std::string& host) {
        scope([&](task_scope& s) {
            const unsigned before = callers_for_test();
            s.go([&] {
                std::error_code ec;
                static_cast<void>(resolve(host, 80, ec, patient));
                EXPECT_EQ(ec, errc::cancelled);
            });
            eventually([&] { return lookups >= 1 && callers_for_test() == before + 1; });
            s.cancel();
        });
    }

    static void open_gate() {
        gate_open = true;
        gate_open.notify_all();
    }

    static constexpr std::size_t lookup_threads_that_stay = 16;  // and some of the runtime; others end at once
    std::size_t threads_before_ = resources::now().threads;

    void TearDown() override {
        open_gate();
        allowed = INT_MAX;
        eventually([] { return at_the_gate == 0; });
        set_lookup_function(nullptr);
        eventually([&] { return resources::now().threads <= threads_before_ + lookup_threads_that_stay; });
        procs_test::TearDown();
    }
};

WEFT_SWEEP_OVER(Resolve, 1U, 4U);

TEST_P(Resolve, AddressesNeedNoLookup) {
    rt().run([] {
        using list = std::vector<endpoint>;
        EXPECT_EQ(resolve("127.0.0.1", 80), list{endpoint("127.0.0.1:80")});
        EXPECT_EQ(resolve("::1", 80), list{endpoint("[::1]:80")});
        EXPECT_EQ(resolve("127.0.0.1:80"), list{endpoint("127.0.0.1:80")});
        EXPECT_EQ(resolve("[::1]:80"), list{endpoint("[::1]:80")});
        EXPECT_EQ(resolve(":80"), (list{endpoint("[::]:80"), endpoint("0.0.0.0:80")}));
        EXPECT_EQ(resolve(":80", {.only = endpoint::ip::v4}), list{endpoint("0.0.0.0:80")});
        std::error_code ec;
        EXPECT_TRUE(resolve("127.0.0.1:80", ec, {.only = endpoint::ip::v6}).empty());
        EXPECT_EQ(ec, resolve_errc::no_address);
    });
    EXPECT_EQ(lookups, 0);
}

TEST_P(Resolve, NamesAreLookedUp) {
    rt().run([] {
        const std::vector<endpoint> both = resolve("host:80", patient);
        ASSERT_EQ(both.size(), 2U);
        EXPECT_EQ(both[0], endpoint("[::1]:80"));
        EXPECT_EQ(both[1], endpoint("127.0.0.1:80"));
        EXPECT_EQ(resolve("host", 81, {.only = endpoint::ip::v4}), std::vector{endpoint("127.0.0.1:81")});
    });
    EXPECT_EQ(lookups, 2);
}

TEST_P(Resolve, TheErrorContainsTheName) {
    rt().run([] {
        std::error_code ec;
        EXPECT_TRUE(resolve("none:80", ec).empty());
        EXPECT_EQ(ec, resolve_errc::not_found);
        try {
            static_cast<void>(resolve("none.example:80"));
            ADD_FAILURE();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), resolve_errc::not_found);
            EXPECT_NE(std::string(e.what()).find("none.example"), std::string::npos) << e.what();
        }
        for (const char* bad :
             {"host", "host:", "host:http", "host:70000", "a:b:80", "[host]:80", "[::1:80", "host:-1"}) {
            EXPECT_TRUE(resolve(bad, ec).empty()) << bad;
            EXPECT_EQ(ec, resolve_errc::not_understood) << bad;
            EXPECT_THROW(static_cast<void>(resolve(bad)), std::system_error) << bad;
        }
        EXPECT_TRUE(resolve(std::string(254, 'x'), 80, ec).empty());
        EXPECT_EQ(ec, resolve_errc::not_understood);
    });
}

TEST_P(Resolve, ConcurrentLookupsOfANameShareOneQuery) {
    rt().run([&] {
        wait_group all;
        for (int i = 0; i < 10; ++i) {
            all.go([] { EXPECT_EQ(resolve("slow", 80, patient).size(), 2U); });
        }
        eventually([] { return callers_for_test() == 10; });
        open_gate();
        all.wait();
        EXPECT_EQ(lookups, 1);
        EXPECT_EQ(resolve("slow", 80, patient).size(), 2U);  // results are not cached
        EXPECT_EQ(lookups, 2);
    });
}

TEST_P(Resolve, ACancelledCallerReturnsAtOnce) {
    rt().run([&] {
        EXPECT_THROW(with_timeout(1ms, [] { static_cast<void>(resolve("slow", 80, patient)); }), timed_out);
        std::error_code ec;
        with_timeout(1ms, [&] { static_cast<void>(resolve("slow", 80, ec, patient)); });
        EXPECT_EQ(ec, errc::timed_out);
        wait_group all;
        all.go([] { EXPECT_EQ(resolve("slow", 80, patient).size(), 2U); });
        eventually([] { return callers_for_test() == 1; });
        open_gate();
        all.wait();
    });
}

// The server may have recovered since that lookup began.
TEST_P(Resolve, AnAbandonedLookupIsNotShared) {
    numbered_lookups();
    rt().run([] {
        give_up_one("host");
        wait_group all;
        const auto ask = [&all] { all.go([] { EXPECT_EQ(resolve("host", 80, patient).size(), 1U); }); };
        ask();
        eventually([] { return lookups == 2; });
        allowed = 1;  // the lookup that was given up ends, and does not replace the other
        eventually([] { return ended == 1; });
        EXPECT_EQ(resolve("localhost.", 80, {.only = endpoint::ip::v4}).size(), 1U) << "is never held up";
        ask();
        eventually([] { return callers_for_test() == 2; });
        EXPECT_EQ(lookups, 3) << "the first, the second, and localhost";
        allowed = INT_MAX;
        all.wait();
        EXPECT_EQ(lookups, 3);
    });
}

// One caller is left that has not given up.
TEST_P(Resolve, ALookupWithARemainingCallerIsShared) {
    numbered_lookups();
    rt().run([] {
        wait_group all;
        all.go([] { EXPECT_EQ(resolve("host", 80, patient).size(), 1U); });
        eventually([] { return lookups == 1; });
        give_up_one("host");
        all.go([] { EXPECT_EQ(resolve("host", 80, patient).size(), 1U); });
        eventually([] { return callers_for_test() == 2; });
        allowed = INT_MAX;
        all.wait();
        EXPECT_EQ(lookups, 1);
    });
}

// Lookups overtaken by an answer go on and are shared; otherwise each question would leave two
// threads behind.
TEST_P(Resolve, ANameWithOneSilentVersionUsesTwoThreads) {
    rt().run([] {
        for (int i = 0; i < 50; ++i) {
            EXPECT_EQ(resolve("half4", 80, {.resolution_delay = 1ms}), std::vector{endpoint("127.0.0.1:80")});
        }
        EXPECT_LE(at_the_gate, 2) << "both versions, and IPv6";
    });
}

// Lookups delay no others, whether their callers still wait or have left.
TEST_P(Resolve, HangingLookupsDelayNoOthers) {
    rt().run([&] {
        scope([&](task_scope& s) {
            for (int i = 0; i < 40; ++i) {
                s.go([i] {
                    std::error_code ec;
                    static_cast<void>(resolve("slow" + std::to_string(i), 80, ec));
                });
            }
            eventually([] { return at_the_gate >= 8; });
            EXPECT_EQ(resolve("host", 80).size(), 2U);
            s.cancel();
        });
        EXPECT_EQ(resolve("host", 80).size(), 2U);
    });
    EXPECT_GE(at_the_gate, 8) << "the gate is still closed";
}

// At most 128 threads. A lookup that no thread has begun is dropped when its callers have left.
TEST_P(Resolve, TheNumberOfHangingLookupsIsBounded) {
    static constexpr int many = 200;
    static constexpr int most = 128;
    rt().run([&] {
        std::atomic<int> given_up = 0;
        scope([&](task_scope& s) {
            for (int i = 0; i < many; ++i) {
                s.go([&given_up, i] {
                    std::error_code ec;
                    static_cast<void>(resolve("slow" + std::to_string(i), 80, ec, patient));
                    if (ec == errc::cancelled) ++given_up;
                });
            }
            eventually([&] { return at_the_gate == most && callers_for_test() == many; });
            s.cancel();
        });
        EXPECT_EQ(given_up, many);
        EXPECT_EQ(at_the_gate, most);
        open_gate();
        eventually([] { return at_the_gate == 0; });
        EXPECT_EQ(resolve("host", 80, patient).size(), 2U);
        EXPECT_EQ(lookups, most + 1);
    });
}

// The names of one domain use at most half of the threads, and other domains do not queue behind
// them.
TEST_P(Resolve, ADomainWithASilentServerDelaysNoOther) {
    static constexpr int many = 300;
    rt().run([&] {
        scope([&](task_scope& s) {
            for (int i = 0; i < many; ++i) {
                s.go([i] {
                    std::error_code ec;
                    const char* dot = i % 2 == 0 ? ".silent.example" : ".Silent.Example.";
                    static_cast<void>(resolve("slow" + std::to_string(i) + dot, 80, ec, patient));
                });
            }
            eventually([&] { return at_the_gate == 64 && callers_for_test() == many; });
            EXPECT_EQ(resolve("host.other.example", 80).size(), 2U);
            EXPECT_EQ(resolve("other.test", 80).size(), 2U);
            EXPECT_EQ(at_the_gate, 64);
            s.cancel();
        });
    });
}

// This holds however many names they have. A domain without a thread gets one.
TEST_P(Resolve, DomainsWithSilentServersDelayNoOther) {
    static constexpr int names = 640;
    for (const int domains : {2, 3, 31}) {
        rt().run([&] {
            scope([&](task_scope& s) {
                const auto ask = [&](int domain, int name) {
                    s.go([domain, name] {
                        std::error_code ec;
                        const std::string host = "slow" + std::to_string(name) + ".silent" + std::to_string(domain);
                        static_cast<void>(resolve(host + ".example", 80, ec, patient));
                    });
                };
                // The first domain uses all threads that one domain may have.
                for (int i = 0; i < names / domains; ++i) ask(0, i);
                eventually([&] { return at_the_gate >= std::min(64, names / domains); });
                for (int d = 1; d < domains; ++d) {
                    for (int i = 0; i < names / domains; ++i) ask(d, i);
                }
                eventually([&] { return at_the_gate >= 96; });
                for (int i = 0; i < 10; ++i) {
                    EXPECT_EQ(resolve("host" + std::to_string(i) + ".other.example", 80).size(), 2U);
                    EXPECT_EQ(resolve("host.other" + std::to_string(i) + ".example", 80).size(), 2U);
                }
                EXPECT_LE(at_the_gate, 96 + domains);
                s.cancel();
            });
        });
        open_gate();
        eventually([] { return at_the_gate == 0; });
        gate_open = false;
    }
}

// The lookup of both versions failed only after one version had returned addresses.
TEST_P(Resolve, AnErrorOfTheJointLookupKeepsFoundAddresses) {
    rt().run([] {
        for (const char* host : {"half4.try-again", "half6.try-again"}) {
            const bool is_v4 = host[4] == '4';
            const endpoint::ip answered = is_v4 ? endpoint::ip::v4 : endpoint::ip::v6;
            std::error_code ec;
            std::vector<endpoint> found;
            wait_group all;
            lookups_of_a_version = 0;
            all.go([&] { found = resolve(host, 80, ec, {.resolution_delay = 300ms}); });
            eventually([] { return lookups_of_a_version == 2; });
            // The lookup has ended if the next one is a new lookup.
            eventually([&] {
                static_cast<void>(resolve(host, 80, {.only = answered}));
                return lookups_of_a_version >= 3;
            });
            open_gate();  // the lookup of both fails, and so does that of the other version
            all.wait();
            EXPECT_FALSE(ec) << host << ": " << ec.message();
            EXPECT_EQ(found, std::vector{endpoint(is_v4 ? "127.0.0.1:80" : "[::1]:80")});
            eventually([] { return at_the_gate == 0; });
            gate_open = false;
        }
    });
}

// The lookup of both versions sorts its addresses (RFC 6724). Lookups of a single version cannot.
TEST_P(Resolve, WaitsBrieflyForTheOrderOfBothVersions) {
    rt().run([] {
        using list = std::vector<endpoint>;
        list found;
        wait_group all;
        all.go([&] { found = resolve("late", 80, {.resolution_delay = 1s}); });
        eventually([] { return lookups_of_a_version == 2; });
        eventually([] {
            static_cast<void>(resolve("late", 80, {.only = endpoint::ip::v4}));
            static_cast<void>(resolve("late", 80, {.only = endpoint::ip::v6}));
            return lookups_of_a_version >= 4;
        });
        open_gate();
        all.wait();
        EXPECT_EQ(found, (list{endpoint("127.0.0.1:80"), endpoint("[::1]:80")}));
        gate_open = false;
        found = resolve("late", 80, {.resolution_delay = 500ms});
        EXPECT_EQ(found, (list{endpoint("[::1]:80"), endpoint("127.0.0.1:80")})) << "no longer than that";
    });
}

// RFC 8305: the answer for one version does not wait long for the other.
TEST_P(Resolve, AnUnansweredVersionIsLeftOut) {
    rt().run([] {
        using list = std::vector<endpoint>;
        const auto start = std::chrono::steady_clock::now();
        EXPECT_EQ(resolve("half4", 80), list{endpoint("127.0.0.1:80")});
        EXPECT_GE(std::chrono::steady_clock::now() - start, 50ms);
        EXPECT_EQ(resolve("half6", 80, {.resolution_delay = 1ms}), list{endpoint("[::1]:80")});
        EXPECT_EQ(resolve("half4", 80, {.only = endpoint::ip::v4}), list{endpoint("127.0.0.1:80")});
    });
    EXPECT_GE(at_the_gate, 2) << "the gate is still closed";
}

TEST_P(Resolve, ASecondVersionThatIsSoonEnoughIsIncluded) {
    rt().run([] {
        wait_group all;
        all.go([] {
            const std::vector<endpoint> both = resolve("half4", 80, {.resolution_delay = 1ms});
            EXPECT_LE(both.size(), 2U);  // either size may result
            EXPECT_EQ(both.back(), endpoint("127.0.0.1:80"));
        });
        all.go([] { EXPECT_EQ(resolve("half4b", 80, patient).size(), 2U); });
        eventually([] { return at_the_gate >= 1 && callers_for_test() >= 1; });
        open_gate();
        all.wait();
    });
}

TEST_P(Resolve, ANegativeAnswerAboutBothVersionsIsFinal) {
    rt().run([] {
        std::error_code ec;
        static_cast<void>(resolve("none", 80, ec, {.resolution_delay = 0s}));
        EXPECT_EQ(ec, resolve_errc::not_found);
    });
}

// A hanging lookup does not delay a runtime that stops.
TEST_P(Resolve, StoppingDoesNotWaitForALookup) {
    runtime other({.procs = procs()});
    std::atomic<int> given_up = 0;
    for (int i = 0; i < 12; ++i) {
        other.go([&given_up, i] {
            std::error_code ec;
            static_cast<void>(i % 2 == 0 ? !resolve("slow" + std::to_string(i), 80, ec).empty()
                                         : dial("slow" + std::to_string(i) + ":80", ec).is_open());
            if (ec == errc::cancelled) ++given_up;
        });
    }
    eventually([&] { return at_the_gate >= 12 && callers_for_test() == 12; });
    const stop_outcome outcome = other.shutdown(patience());
    EXPECT_EQ(outcome.abandoned, 0U);
    EXPECT_EQ(outcome.stragglers, 0U);
    EXPECT_EQ(given_up, 12);
    EXPECT_GE(at_the_gate, 12) << "the gate is still closed";
}

TEST_P(Resolve, PlainThreadsMayResolve) {
    EXPECT_EQ(resolve("host", 80, patient).size(), 2U);
    EXPECT_EQ(lookups, 1);
}

TEST_P(Resolve, TheSystemResolvesLocalhost) {
    set_lookup_function(nullptr);
    rt().run([] {
        const std::vector<endpoint> all = resolve("localhost", 80, {.only = endpoint::ip::v4});
        ASSERT_FALSE(all.empty());
        EXPECT_EQ(all[0], endpoint("127.0.0.1:80"));
    });
}

// ---- dial

class Dial : public Resolve {
protected:
    // The default runtime's poller stays, too.
    static void SetUpTestSuite() {
        open_outside_poller();
        const held_port refusing;
        std::error_code ec;
        static_cast<void>(dial(std::vector<endpoint>{refusing.at(), refusing.at()}, ec));
        EXPECT_EQ(ec, std::errc::connection_refused);
    }
};

WEFT_SWEEP_OVER(Dial, 1U, 4U);

// fake() lists ::1 first, where nothing listens.
TEST_P(Dial, TriesTheNextAddressAfterARefusal) {
    rt().run([] {
        tcp_listener listener(endpoint::loopback(0));
        const uint16_t port = listener.local_endpoint().port();
        tcp_stream c = dial("host:" + std::to_string(port), {.fallback_delay = 10s});
        EXPECT_EQ(c.remote_endpoint(), endpoint::loopback(port));
        tcp_stream far = listener.accept();
        far.write_all("x");
        char text[1];
        EXPECT_EQ(c.read_some(text), 1U);
    });
}

// A listener with a full queue neither answers nor refuses.
TEST_P(Dial, TriesTheNextAddressIfNoneAnswersInTime) {
    rt().run([] {
        tcp_listener silent(endpoint::loopback(0), {.backlog = 0});
        std::vector<tcp_stream> fill;
        for (int i = 0; i < 4; ++i) {
            std::error_code ec;
            with_timeout(20ms, [&] { fill.push_back(tcp_stream::connect(silent.local_endpoint(), ec)); });
            if (ec) break;
        }
        tcp_listener listener(endpoint::loopback(0));
        const std::vector<endpoint> both{silent.local_endpoint(), listener.local_endpoint()};
        std::error_code ec;
        const auto start = std::chrono::steady_clock::now();
        const tcp_stream c = dial(both, ec, {.fallback_delay = 30ms});
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_EQ(c.remote_endpoint(), listener.local_endpoint());
        EXPECT_GE(std::chrono::steady_clock::now() - start, 30ms);
    });
}

TEST_P(Dial, ReportsTheFirstErrorIfAllRefuse) {
    rt().run([&] {
        const held_port refusing;
        std::error_code ec;
        const std::vector<endpoint> all{refusing.at(), refusing.at(), refusing.at()};
        EXPECT_FALSE(dial(all, ec).is_open());
        EXPECT_EQ(ec, std::errc::connection_refused);
        EXPECT_FALSE(dial(std::vector<endpoint>{}, ec).is_open());
        EXPECT_EQ(ec, resolve_errc::no_address);
        try {
            static_cast<void>(dial("host:" + std::to_string(refusing.port())));
            ADD_FAILURE();
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::connection_refused);
            EXPECT_NE(std::string(e.what()).find("tried [::1]:"), std::string::npos) << e.what();
        }
        EXPECT_THROW(static_cast<void>(dial("none:80")), std::system_error);
    });
}

TEST_P(Dial, ADeadlineEndsAllTries) {
    rt().run([&] {
        EXPECT_THROW(with_timeout(5ms, [] { static_cast<void>(dial("slow:80")); }), timed_out);
        open_gate();
        tcp_listener silent(endpoint::loopback(0), {.backlog = 0});
        std::vector<tcp_stream> fill;
        std::error_code ec;
        for (int i = 0; i < 4 && !ec; ++i) {
            with_timeout(20ms, [&] { fill.push_back(tcp_stream::connect(silent.local_endpoint(), ec)); });
        }
        const std::vector<endpoint> twice{silent.local_endpoint(), silent.local_endpoint()};
        with_timeout(20ms, [&] { static_cast<void>(dial(twice, ec, {.fallback_delay = 1ms})); });
        EXPECT_EQ(ec, errc::timed_out);
    });
}

TEST_P(Dial, PlainThreadsMayDial) {
    const held_port refusing;
    tcp_listener listener(endpoint::loopback(0));
    const std::vector<endpoint> both{refusing.at(), listener.local_endpoint()};
    std::error_code ec;
    const tcp_stream c = dial(both, ec);
    EXPECT_FALSE(ec) << ec.message();
    EXPECT_EQ(c.remote_endpoint(), listener.local_endpoint());
}

}  // namespace
}  // namespace weft::test
