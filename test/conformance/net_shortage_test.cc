// net_shortage_test.cc: sockets when the process has no file descriptor left: accept waits for one;
// making a socket fails with advice.

#include <atomic>
#include <chrono>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/build.h"
#include "support/connections.h"
#include "support/eventually.h"
#include "support/no_more_files.h"
#include "support/outside_poller.h"
#include "support/procs_test.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class NetShortage : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }

    // A listener, a client that has connected to it, and a descriptor registered with the poller.
    template <typename Over>
    struct waiting_client {
        explicit waiting_client(Over over, runtime& rt) {
            rt.run([&] {
                listener = over.listen();
                client = over.connect(listener);
                typename Over::stream first = listener.accept();
                static_cast<void>(first);
                client = over.connect(listener);
            });
        }

        typename Over::listener listener;
        typename Over::stream client;
    };
};

WEFT_SWEEP_OVER(NetShortage, 1U, 4U);

// A connection waits in the system's queue until there is a descriptor for it.
TEST_P(NetShortage, AcceptWaitsForAFreeDescriptor) {
    over_streams([&](auto over) {
        waiting_client w(over, rt());
        std::atomic<bool> accepted = false;
        {
            const no_more_files limit;
            const uint64_t parks = rt().stats().parks;
            rt().go([&] {
                auto s = w.listener.accept();
                s.write_all("x");
                accepted = true;
            });
            eventually([&] { return rt().stats().parks >= parks + 3; });  // it pauses repeatedly
            EXPECT_FALSE(accepted);
        }
        rt().drain();
        EXPECT_TRUE(accepted);
        char b[1];
        EXPECT_EQ(w.client.read(b), 1U) << "it is served";
    });
}

// Connections that are already accepted keep being served.
TEST_P(NetShortage, AcceptedConnectionsAreServedMeanwhile) {
    over_streams([&](auto over) {
        waiting_client w(over, rt());
        connection c(over);
        {
            const no_more_files limit;
            const uint64_t parks = rt().stats().parks;
            rt().go([&] { static_cast<void>(w.listener.accept()); });
            eventually([&] { return rt().stats().parks > parks; });
            std::atomic<int> answers = 0;
            rt().run([&] {
                wait_group far;
                far.go([&] {
                    char b[1];
                    for (int i = 0; i < 100 && c.far.read(b) == 1; ++i) c.far.write_all(b);
                });
                for (int i = 0; i < 100; ++i) {
                    char b[1];
                    c.near.write_all("x");
                    answers += c.near.read(b) == 1 ? 1 : 0;
                }
                far.wait();
            });
            EXPECT_EQ(answers, 100);
        }
        rt().drain();
    });
}

// A runtime that has not needed a poller so far cannot create one now.
TEST_P(NetShortage, AcceptWaitsForADescriptorOfThePoller) {
    over_streams([&](auto over) {
        runtime fresh({.procs = 1});
        fresh.run([] {});
        waiting_client w(over, rt());
        std::atomic<bool> accepted = false;
        {
            const no_more_files limit;
            fresh.go([&] {
                static_cast<void>(w.listener.accept());
                accepted = true;
            });
            eventually([&] { return fresh.stats().timers_fired >= 2; });
            EXPECT_FALSE(accepted);
        }
        fresh.drain();
        EXPECT_TRUE(accepted);
    });
}

TEST_P(NetShortage, ClosingEndsTheWaitForADescriptor) {
    over_streams([&](auto over) {
        waiting_client w(over, rt());
        const uint64_t parks = rt().stats().parks;
        std::error_code ec;
        {
            const no_more_files limit;
            rt().go([&] { static_cast<void>(w.listener.accept(ec)); });
            eventually([&] { return rt().stats().parks > parks; });
            w.listener.close();
            rt().drain();
        }
        EXPECT_EQ(ec, errc::closed);  // after the limit, as below
    });
}

TEST_P(NetShortage, ADeadlineEndsTheWaitForADescriptor) {
    over_streams([&](auto over) {
        waiting_client w(over, rt());
        std::error_code ec;
        {
            const no_more_files limit;
            rt().run([&] {
                w.listener.set_deadline(std::chrono::steady_clock::now() + 12ms);  // in the second pause
                static_cast<void>(w.listener.accept(ec));
            });
        }
        EXPECT_EQ(ec, errc::timed_out);  // after the limit, under which the sanitizer cannot check ec's type
    });
}

// What `call` throws while no descriptor is left.
template <typename F>
std::string thrown_without_descriptors(F call) {
    std::string what = "nothing";
    try {
        const no_more_files limit;
        call();
    } catch (const std::system_error& e) {
        if (e.code() == std::errc::too_many_files_open) what = e.what();
    }
    return what;
}

TEST_P(NetShortage, TheErrorOfANewSocketNamesTheRemedy) {
    if (built_with_asan) GTEST_SKIP() << "this sanitizer looks at every exception, which takes a descriptor";
    const auto expect_advice = [](auto call) {
        const std::string what = thrown_without_descriptors(call);
        EXPECT_NE(what.find("ulimit -n"), std::string::npos) << what;
    };
    over_streams([&](auto over) {
        auto listener = over.listen();
        expect_advice([&] { static_cast<void>(over.connect(listener)); });
        expect_advice([&] { static_cast<void>(over.listen()); });
    });
    over_datagrams([&](auto over) { expect_advice([&] { static_cast<void>(over.pair()); }); });
}

}  // namespace
}  // namespace weft::test
