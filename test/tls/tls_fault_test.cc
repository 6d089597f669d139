// tls_fault_test.cc: TLS over a network that delays, stalls, goes silent, damages bytes, and
// disconnects.
//
// support/fault_proxy.h is that network. support/bad_network.h has the properties that hold for
// every kind of stream.

#include <array>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include <weft/net/tcp.h>
#include <weft/tls/stream.h>
#include <weft/weft.h>

#include "support/bad_link.h"
#include "support/bad_network.h"
#include "support/connections.h"
#include "support/fault_proxy.h"
#include "support/pending_timers.h"
#include "support/random.h"
#include "support/sigpipe_counter.h"
#include "tls/tls_pair.h"

namespace weft::test {
namespace {

using namespace bad_network;

struct bad_tls {
    using stream = tls::stream;
    using listener = net::tcp_listener;

    static constexpr bool is_plain = false;

    static listener listen() { return over_tcp::listen(); }

    static stream accept(listener& l, std::error_code& ec) {
        static const tls::context with = tls::context::server(usual_server());
        return stream::server(l.accept(ec), with);
    }

    // The first read or write makes the handshake.
    static stream connect(const fault_proxy::place& to, std::error_code& ec) {
        static const tls::context with = tls::context::client(usual_client());
        return stream::client(net::tcp_stream::connect(net::endpoint::loopback(to.port), ec), "example.test", with);
    }

    static bool is_lost(const std::error_code& ec) {
        return ec == std::errc::connection_reset || ec == std::errc::broken_pipe || is_truncated(ec);
    }

    static bool is_cut(const std::error_code& ec) { return is_lost(ec); }

    static bool is_truncated(const std::error_code& ec) {
        return ec == tls::errc::truncated || ec == tls::errc::ended_in_handshake;
    }
};

class TlsFault : public tls_test {
protected:
    void TearDown() override {
        rt().drain();
        EXPECT_EQ(pending_timers(rt()), 0U) << "nobody waits any more";
        EXPECT_EQ(sigpipes_.count(), 0);
        tls_test::TearDown();
    }

    sigpipe_counter sigpipes_;
};

WEFT_SWEEP_OVER(TlsFault, 1U, 2U, 4U);

TEST_P(TlsFault, EveryByteArrivesOverABadLink) { rt().run(every_byte_arrives_in_any_weather<bad_tls>); }

TEST_P(TlsFault, ALargeWriteWaitsAndCompletes) { rt().run(a_large_write_waits_and_goes_on<bad_tls>); }

TEST_P(TlsFault, AnEndOfStreamLeavesTheOtherDirectionOpen) {
    rt().run(an_end_is_passed_on_and_the_other_direction_goes_on<bad_tls>);
}

// Wherever the byte is, and whichever side sent it, no damaged data reaches a reader, and the error
// is not an orderly end.
TEST_P(TlsFault, AChangedByteIsNeverRead) {
    constexpr std::array<uint64_t, 9> places{0, 1, 4, 5, 50, 200, 1500, 5000, 20'000};
    rt().run([&] {
        for (const bool up : {true, false}) {
            bad_link<bad_tls> link([&](int number) {
                const weather damage{.corrupt_at = places[static_cast<std::size_t>(number)]};
                return up ? fault_plan{.up = damage, .down = {}} : fault_plan{.up = {}, .down = damage};
            });
            for (std::size_t i = 0; i < places.size(); ++i) {
                two<bad_tls> t = link.connect();
                // If a length became too large, the reader waits for data that does not come.
                t.near.set_deadline(steady::now() + 10s);
                t.far.set_deadline(steady::now() + 10s);
                talk said;
                wait_group all;
                const auto until_lost = [&](auto& from, auto& to, told& sent, heard& got, uint64_t key) {
                    all.go([&, key] { sent = tell(from, key, 100'000); });
                    all.go([&, key] {
                        got = listen_to(to, key);
                        if (got.error) to.close();
                    });
                };
                until_lost(t.near, t.far, said.near_told, said.far_heard, 1);
                until_lost(t.far, t.near, said.far_told, said.near_heard, 2);
                all.wait();
                const heard& victim = up ? said.far_heard : said.near_heard;
                EXPECT_TRUE(victim.error) << places[i] << ": nobody has noticed";
                EXPECT_FALSE(victim.ended);
                EXPECT_LT(victim.read, 100'000U);
                EXPECT_NE(victim.error, weft::errc::timed_out) << places[i];
                EXPECT_EQ(said.near_heard.wrong_at, heard::nowhere) << places[i];
                EXPECT_EQ(said.far_heard.wrong_at, heard::nowhere) << places[i];
            }
        }
    });
}

TEST_P(TlsFault, AResetEndsARead) {
    rt().run([] { a_reset_at_every_place<bad_tls>(false); });
}

TEST_P(TlsFault, AResetEndsAWrite) {
    rt().run([] { a_reset_at_every_place<bad_tls>(true); });
}

TEST_P(TlsFault, AResetAfterAnEndOfStreamIsReported) { rt().run(a_reset_after_an_end<bad_tls>); }

TEST_P(TlsFault, ACutConnectionIsNotAnEndOfStream) { rt().run(a_connection_that_is_cut_at_every_place<bad_tls>); }

TEST_P(TlsFault, DeadlinesEndCallsOnASilentConnection) { rt().run(deadlines_cut_what_has_fallen_silent<bad_tls>); }

TEST_P(TlsFault, DeadlinesEndAHandshakeWithoutAnAnswer) { rt().run(deadlines_end_streams_without_an_answer<bad_tls>); }

TEST_P(TlsFault, ACloseWakesAllWaitersOfASilentConnection) {
    a_close_wakes_all_that_wait_for_an_answer<bad_tls>(rt(), [&](uint64_t n, auto f) { park(n, f); });
}

TEST_P(TlsFault, APartitionThatHealsLosesNothing) { rt().run(a_partition_that_heals_loses_nothing<bad_tls>); }

TEST_P(TlsFault, ARuntimeStopsDuringAPartition) { a_runtime_stops_during_a_partition<bad_tls>(rt(), procs()); }

TEST_P(TlsFault, EachConnectionEndsAsItsPlanSays) {
    const uint64_t seed = announced_seed();
    rt().run([&] { each_connection_ends_as_its_lot_is<bad_tls>(seed); });
}

}  // namespace
}  // namespace weft::test
