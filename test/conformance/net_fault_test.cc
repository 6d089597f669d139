// net_fault_test.cc: TCP and Unix sockets on a network that is late, slow, silent, and goes away.
//
// support/fault_proxy.h implements that network. support/bad_network.h states what must hold.

#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "os/fd_calls.h"
#include "support/bad_link.h"
#include "support/bad_network.h"
#include "support/connections.h"
#include "support/fault_proxy.h"
#include "support/outside_poller.h"
#include "support/pending_timers.h"
#include "support/procs_test.h"
#include "support/random.h"
#include "support/sigpipe_counter.h"

namespace weft::test {
namespace {

using namespace bad_network;

struct bad_tcp : over_tcp {
    static constexpr bool is_plain = true;

    static stream accept(listener& l, std::error_code& ec) { return l.accept(ec); }

    static stream connect(const fault_proxy::place& to, std::error_code& ec) {
        return stream::connect(net::endpoint::loopback(to.port), ec);
    }

    static bool is_lost(const std::error_code& ec) {
#if defined(_WIN32)
        if (!ec) return true;  // wine 8 shows some resets as an end
#endif
        return ec == std::errc::connection_reset || ec == std::errc::broken_pipe;
    }

    // The first write after the cut is told that the peer has gone.
    static bool is_cut(const std::error_code& ec) { return !ec || is_lost(ec); }
};

// Unix sockets know no reset: a read finds the end.
struct bad_unix : over_unix {
    static constexpr bool is_plain = true;

    static stream accept(listener& l, std::error_code& ec) { return l.accept(ec); }

    static stream connect(const fault_proxy::place& to, std::error_code& ec) {
        return stream::connect(net::unix_address::abstract_name(to.name), ec);
    }

    static bool is_lost(const std::error_code& ec) { return !ec || bad_tcp::is_lost(ec); }

    static bool is_cut(const std::error_code& ec) { return is_lost(ec); }
};

class NetFault : public procs_test {
protected:
    static void SetUpTestSuite() { open_outside_poller(); }

    void TearDown() override {
        rt().drain();
        EXPECT_EQ(pending_timers(rt()), 0U) << "nobody waits any more";
        EXPECT_EQ(sigpipes_.count(), 0);
        procs_test::TearDown();
    }

    sigpipe_counter sigpipes_;
};

WEFT_SWEEP_OVER(NetFault, 1U, 2U, 4U);

template <typename F>
void over_bad_streams(F f) {
    f(bad_tcp());
    tell_failure("TCP");
    if (!detail::os::has_abstract_names()) return;
    f(bad_unix());
    tell_failure("Unix sockets");
}

TEST_P(NetFault, EveryByteArrivesOverABadLink) {
    rt().run([] { over_bad_streams([]<typename Over>(Over) { every_byte_arrives_in_any_weather<Over>(); }); });
}

TEST_P(NetFault, ALargeWriteWaitsAndCompletes) {
    rt().run([] { over_bad_streams([]<typename Over>(Over) { a_large_write_waits_and_goes_on<Over>(); }); });
}

TEST_P(NetFault, AnEndOfStreamLeavesTheOtherDirectionOpen) {
    rt().run([] {
        over_bad_streams([]<typename Over>(Over) { an_end_is_passed_on_and_the_other_direction_goes_on<Over>(); });
    });
}

// The checks can fail: they find a changed byte, and its place.
TEST_P(NetFault, TheTestDetectsAChangedByte) {
    rt().run([] {
        over_bad_streams([]<typename Over>(Over) {
            bad_link<Over> link(fault_plan{.up = {.corrupt_at = 12'345}, .down = {.piece = 1, .corrupt_at = 0}});
            two<Over> t = link.connect();
            talk said;
            wait_group all;
            start_talk(all, t, said, 1, 20'000);
            all.wait();
            EXPECT_EQ(said.far_heard.wrong_at, 12'345U);
            EXPECT_EQ(said.near_heard.wrong_at, 0U);
            EXPECT_EQ(said.far_heard.read, 20'000U) << "and that is all that is wrong";
            EXPECT_EQ(said.near_heard.read, 20'000U);
        });
    });
}

TEST_P(NetFault, AResetEndsARead) {
    rt().run([] { over_bad_streams([]<typename Over>(Over) { a_reset_at_every_place<Over>(false); }); });
}

TEST_P(NetFault, AResetEndsAWrite) {
    rt().run([] { over_bad_streams([]<typename Over>(Over) { a_reset_at_every_place<Over>(true); }); });
}

TEST_P(NetFault, AResetAfterAnEndOfStreamIsReported) {
    rt().run([] { over_bad_streams([]<typename Over>(Over) { a_reset_after_an_end<Over>(); }); });
}

TEST_P(NetFault, ACutConnectionIsReported) {
    rt().run([] { over_bad_streams([]<typename Over>(Over) { a_connection_that_is_cut_at_every_place<Over>(); }); });
}

TEST_P(NetFault, DeadlinesEndCallsOnASilentConnection) {
    rt().run([] {
        over_bad_streams([]<typename Over>(Over) {
            deadlines_cut_what_has_fallen_silent<Over>();
            deadlines_end_streams_without_an_answer<Over>();
        });
    });
}

TEST_P(NetFault, ACloseWakesAllWaitersOfASilentConnection) {
    over_bad_streams([&]<typename Over>(Over) {
        a_close_wakes_all_that_wait_for_an_answer<Over>(rt(), [&](uint64_t n, auto f) { park(n, f); });
    });
}

TEST_P(NetFault, APartitionThatHealsLosesNothing) {
    rt().run([] { over_bad_streams([]<typename Over>(Over) { a_partition_that_heals_loses_nothing<Over>(); }); });
}

TEST_P(NetFault, ARuntimeStopsDuringAPartition) {
    over_bad_streams([&]<typename Over>(Over) { a_runtime_stops_during_a_partition<Over>(rt(), procs()); });
}

TEST_P(NetFault, EachConnectionEndsAsItsPlanSays) {
    const uint64_t seed = announced_seed();
    rt().run([&] { over_bad_streams([&]<typename Over>(Over) { each_connection_ends_as_its_lot_is<Over>(seed); }); });
}

}  // namespace
}  // namespace weft::test
