// bad_network.h: what must hold for every kind of stream on any network. The bodies of
// net_fault_test.cc and tls_fault_test.cc, as templates over a kind of stream (bad_link.h).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "bad_link.h"
#include "eventually.h"
#include "fault_proxy.h"
#include "random.h"
#include "units.h"

namespace weft::test::bad_network {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// ---- Late, in crumbs, in lumps, slowly, with pauses.

inline std::vector<weather> all_weathers() {
    return {
        {},
        {.delay = 3ms, .jitter = 3ms},
        {.piece = 1},
        {.tick = 5ms},
        {.piece = 4000, .rate = 2'000'000},
        {.stall_every = 7000, .stall = 5ms},
        {.delay = 1ms, .jitter = 2ms, .piece = 700, .rate = 4'000'000, .stall_every = 5000, .stall = 2ms},
    };
}

// All at once, combined in pairs for the two directions.
template <typename Over>
void every_byte_arrives_in_any_weather() {
    constexpr uint64_t size = 30'000;
    const std::vector<weather> all = all_weathers();
    const int count = static_cast<int>(all.size());
    bad_link<Over> link([&](int number) {
        const auto n = static_cast<std::size_t>(number);
        return fault_plan{.up = all[n % all.size()], .down = all[(3 * n + 1) % all.size()], .seed = n};
    });
    std::vector<two<Over>> pairs = link.connect(count);
    std::vector<talk> talks(pairs.size());
    wait_group talkers;
    const auto start = steady::now();
    for (std::size_t i = 0; i < pairs.size(); ++i) start_talk(talkers, pairs[i], talks[i], i, size);
    talkers.wait();
    EXPECT_GE(steady::now() - start, 13ms) << "the last of 30 000 bytes at two million a second";
    for (const talk& t : talks) expect_complete(t, size);
    pairs.clear();
    eventually([&] { return link.proxy.now().open == 0; });
    const auto books = link.proxy.now();
    EXPECT_EQ(books.accepted, count);
    EXPECT_EQ(books.ended, count);
    if constexpr (Over::is_plain) {
        EXPECT_EQ(books.up, size * all.size());
        EXPECT_EQ(books.down, size * all.size());
    }
}

// On a slow network a large write waits, and the system accepts it in parts.
template <typename Over>
void a_large_write_waits_and_goes_on() {
    constexpr uint64_t size = mib;
    const weather slow{.piece = 16 * 1024, .rate = 12'000'000};
    bad_link<Over> link(fault_plan{.up = slow, .down = slow});
    two<Over> t = link.connect();
    const uint64_t parks = stats().parks;
    wait_group all;
    heard far;
    heard near;
    all.go([&] { far = listen_to(t.far, 1); });
    all.go([&] { near = listen_to(t.near, 2); });
    all.go([&] {
        const std::string text = secret_bytes(2, 0, size);
        std::vector<const_buffer> pieces;
        for (std::size_t at = 0, n = 0; at < size; at += n) {
            n = std::min<std::size_t>(size - at, pieces.size() * 1'000 % 40'000);  // the first is empty
            pieces.emplace_back(text.data() + at, n);
        }
        EXPECT_EQ(t.far.writev_all(pieces), size);
        t.far.shutdown_send();
    });
    const std::string text = secret_bytes(1, 0, size);
    int in_part = 0;
    for (std::size_t sent = 0; sent < size;) {
        const std::size_t n = t.near.write_some(const_buffer(text.data() + sent, size - sent));
        EXPECT_GT(n, 0U);
        sent += n;
        in_part += sent < size ? 1 : 0;
    }
    t.near.shutdown_send();
    all.wait();
    EXPECT_GT(in_part, 0);
    EXPECT_GT(stats().parks, parks + 10) << "nobody has waited: was it slow?";
    expect_heard_all(far, size);
    expect_heard_all(near, size);
}

// One side ends its direction; only then does the other one answer.
template <typename Over>
void an_end_is_passed_on_and_the_other_direction_goes_on() {
    constexpr uint64_t size = 8'000;
    for (const weather& w : all_weathers()) {
        bad_link<Over> link(fault_plan{.up = w, .down = w});
        two<Over> t = link.connect();
        wait_group far;
        far.go([&] {
            expect_heard_all(listen_to(t.far, 1), size);
            EXPECT_FALSE(tell(t.far, 2, size).error);
        });
        EXPECT_FALSE(tell(t.near, 1, size).error);
        std::error_code ec;
        EXPECT_EQ(t.near.write_all("x", ec), 0U);
        EXPECT_EQ(ec, std::errc::broken_pipe);
        expect_heard_all(listen_to(t.near, 2), size);
        char b[1];
        EXPECT_EQ(t.near.read_some(b), 0U) << "the end stays the end";
        far.wait();
        t = {};
        eventually([&] { return link.proxy.now().ended == 1; });
    }
}

// ---- Resets.

// Where the network resets a connection, in bytes of one direction, which carries frames of 8 and
// 1000 bytes.
inline constexpr std::array<uint64_t, 8> reset_places{
    0,                 // before the first byte
    1,                 // in a header
    7,                 // before its last byte
    8,                 // after it
    500,               // in the frame after it
    1008,              // between two frames
    3 * 1008 + 5,      // in a header
    30 * 1008 + 1000,  // much later
};

template <typename Over>
void expect_lost_after(const heard& h, uint64_t place) {
    EXPECT_EQ(h.wrong_at, heard::nowhere);
    EXPECT_TRUE(Over::is_lost(h.error)) << place << ": " << h.error.message();
    if constexpr (Over::is_plain) {
        EXPECT_EQ(h.read, place) << "what came before can be read";
    } else {
        EXPECT_LE(h.read, place);
    }
}

// One side sends without end; both are reading when the reset comes.
template <typename Over>
void a_reset_at_every_place(bool of_what_near_sends) {
    bad_link<Over> link([&](int number) {
        fault_plan plan;
        const weather w{.after = reset_places[static_cast<std::size_t>(number)], .then = fate::reset};
        (of_what_near_sends ? plan.up : plan.down) = w;
        return plan;
    });
    const int count = static_cast<int>(reset_places.size());
    std::vector<two<Over>> pairs = link.connect(count);
    wait_group all;
    std::vector<told> told_by(pairs.size());
    std::vector<heard> heard_by(pairs.size());
    std::vector<heard> answers(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        auto& sender = of_what_near_sends ? pairs[i].near : pairs[i].far;
        auto& reader = of_what_near_sends ? pairs[i].far : pairs[i].near;
        if (pairs[i].error) {
            EXPECT_TRUE(Over::is_lost(pairs[i].error)) << pairs[i].error.message();
            EXPECT_EQ(reset_places[i], 0U);
        }
        all.go([&, i] { told_by[i] = tell(sender, i, 64 * mib); });
        all.go([&, i] { heard_by[i] = listen_to_frames(reader, i); });
        all.go([&, i] { answers[i] = listen_to(sender, ~i); });  // no answer comes
    }
    all.wait();
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const bool never_there = !!pairs[i].error;  // near has no stream then
        if (!never_there || of_what_near_sends) expect_lost_after<Over>(heard_by[i], reset_places[i]);
        if (never_there) continue;
        EXPECT_TRUE(told_by[i].error && Over::is_lost(told_by[i].error))
            << reset_places[i] << ": " << told_by[i].error.message();
        // A reset is reported once. If another call has got it, this one finds the end.
        EXPECT_TRUE((Over::is_plain && answers[i].ended) || Over::is_lost(answers[i].error))
            << answers[i].error.message();
        EXPECT_EQ(answers[i].read, 0U);
    }
    const auto books = link.proxy.now();
    EXPECT_EQ(books.fated, count);
    EXPECT_EQ(books.open, 0);
}

// Near has ended its direction and waits for the answer.
template <typename Over>
void a_reset_after_an_end() {
    bad_link<Over> link(fault_plan{});
    two<Over> t = link.connect();
    wait_group far;
    std::error_code ec;
    far.go([&] {
        expect_heard_all(listen_to(t.far, 1), 5000);
        link.proxy.all_meet(fate::reset);
        const std::string much(mib, 'x');
        while (!ec) t.far.write_all(much, ec);
    });
    EXPECT_FALSE(tell(t.near, 1, 5000).error);
    const heard answer = listen_to_frames(t.near, 2);
    far.wait();
    EXPECT_TRUE(Over::is_lost(ec)) << ec.message();
    EXPECT_TRUE(Over::is_lost(answer.error)) << answer.error.message();
}

// A connection that ends midway. For plain streams that is a normal end; for others it must be an
// error.
template <typename Over>
void a_connection_that_is_cut_at_every_place() {
    bad_link<Over> link([&](int number) {
        const weather w{.after = reset_places[static_cast<std::size_t>(number)], .then = fate::cut};
        return fault_plan{.up = {}, .down = w};
    });
    std::vector<two<Over>> pairs = link.connect(static_cast<int>(reset_places.size()));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        wait_group far;
        far.go([&] {
            static_cast<void>(tell(pairs[i].far, i, 50'000));
            pairs[i].far.close();
        });
        const heard h = listen_to_frames(pairs[i].near, i);
        EXPECT_EQ(h.wrong_at, heard::nowhere);
        if constexpr (Over::is_plain) {
            EXPECT_TRUE(h.ended) << h.error.message();
            EXPECT_EQ(h.read, reset_places[i]);
        } else {
            EXPECT_TRUE(Over::is_cut(h.error)) << reset_places[i] << ": " << h.error.message();
        }
        pairs[i].near.close();
        far.wait();
    }
}

// ---- The peer is silent.

// Expects that a call with a deadline 15 ms ahead times out, and not earlier.
template <typename Call>
void expect_timed_out(Call call) {
    const auto when = steady::now() + 15ms;
    std::error_code ec;
    call(when, ec);
    EXPECT_EQ(ec, weft::errc::timed_out) << ec.message();
    EXPECT_GE(steady::now(), when);
}

template <typename Over>
void deadlines_cut_what_has_fallen_silent() {
    const std::string much = secret_bytes(3, 0, 16 * mib);
    for (const fate silence : {fate::ignore, fate::swallow}) {
        bad_link<Over> link(fault_plan{});
        two<Over> t = link.connect();
        greet(t);
        link.proxy.all_meet(silence);
        for (int i = 0; i < 2; ++i) {
            expect_timed_out([&](auto when, std::error_code& ec) {
                t.near.set_read_deadline(when);
                char b[8];
                EXPECT_EQ(t.near.read_some(b, ec), 0U);
            });
        }
        if (silence == fate::swallow) {
            EXPECT_EQ(t.near.write_all(secret_bytes(3, 0, mib)), mib) << "the network takes it";
            continue;
        }
        expect_timed_out([&](auto when, std::error_code& ec) {
            t.near.set_write_deadline(when);
            EXPECT_LT(t.near.write_all(much, ec), much.size());
        });
        expect_timed_out([&](auto when, std::error_code& ec) {
            t.near.set_write_deadline(when);
            while (!ec) static_cast<void>(t.near.write_some(much, ec));
        });
        // A read and a write at once, each with its own deadline.
        wait_group both;
        both.go([&] {
            expect_timed_out([&](auto when, std::error_code& ec) {
                t.near.set_read_deadline(when);
                char b[8];
                EXPECT_EQ(t.near.read(b, ec), 0U);
            });
        });
        expect_timed_out([&](auto when, std::error_code& ec) {
            t.near.set_write_deadline(when);
            static_cast<void>(t.near.write_all(much, ec));
        });
        both.wait();
    }
}

// Silent from the first byte, so a handshake must time out too.
template <typename Over>
void deadlines_end_streams_without_an_answer() {
    bad_link<Over> link(fault_plan{.up = {.after = 0, .then = fate::swallow}, .down = {}});
    two<Over> t = link.connect();
    for (int i = 0; i < 2; ++i) {
        expect_timed_out([&](auto when, std::error_code& ec) {
            t.near.set_deadline(when);
            char b[8];
            EXPECT_EQ(t.near.read(b, ec), 0U);
        });
        expect_timed_out([&](auto when, std::error_code& ec) {
            t.far.set_deadline(when);
            char b[8];
            EXPECT_EQ(t.far.read(b, ec), 0U);
        });
    }
}

// close() wakes all waiters of a connection exactly once, with errc::closed. park(n, f): f() makes
// n calls wait.
template <typename Over, typename Park>
void a_close_wakes_all_that_wait_for_an_answer(runtime& rt, Park park) {
    constexpr int readers = 3;
    constexpr int writers = 3;
    bad_link<Over> link(fault_plan{});
    two<Over> t;
    rt.run([&] {
        t = link.connect();
        greet(t);
    });
    link.proxy.all_meet(fate::ignore);
    const std::string much(16 * mib, 'x');
    std::array<std::atomic<int>, readers + writers> returned{};
    std::array<std::error_code, readers + writers> errors;
    park(readers + writers, [&] {
        for (std::size_t i = 0; i < returned.size(); ++i) {
            rt.go([&, i] {
                char b[8];
                if (i < readers) {
                    EXPECT_EQ(t.near.read(b, errors[i]), 0U);
                } else {
                    EXPECT_LT(t.near.write_all(much, errors[i]), much.size());
                }
                ++returned[i];
            });
        }
    });
    for (const auto& times : returned) EXPECT_EQ(times, 0) << "nothing has happened yet";
    rt.run([&] { t.near.close(); });
    rt.drain();
    for (std::size_t i = 0; i < returned.size(); ++i) {
        EXPECT_EQ(returned[i], 1) << i;
        EXPECT_EQ(errors[i], weft::errc::closed) << i << ": " << errors[i].message();
    }
}

// ---- A partition of the network.

struct partition_state {
    std::atomic<bool> apart = false;      // set after the partition has begun
    std::atomic<bool> healing = false;    // set before it ends
    std::atomic<bool> together = false;   // set after it has ended
    std::atomic<int> answered_apart = 0;  // questions without a deadline that were asked and answered in between
    std::atomic<int> begun = 0;
    std::atomic<int> timed_out = 0;  // at least once
    std::atomic<int> timed_out_twice = 0;
    std::atomic<int64_t> least_late_us = INT64_MAX;  // of the calls that timed out
};

inline constexpr uint64_t some_questions = 5;

// Asks before, during and after the partition, without a deadline.
template <typename Stream>
void ask_patiently(Stream& s, uint64_t key, partition_state& state) {
    std::error_code ec;
    uint64_t asked = 0;
    for (uint64_t afterwards = 0; afterwards < some_questions;) {
        const bool counts = state.together;
        const bool apart = state.apart;
        ASSERT_TRUE(ask(s, key, asked, ec)) << ec.message();
        if (apart && !state.healing) ++state.answered_apart;
        if (++asked == some_questions) ++state.begun;
        if (counts) ++afterwards;
    }
    s.shutdown_send();
    char b[1];
    EXPECT_EQ(s.read_some(b), 0U);
}

// During the partition it times out. Afterwards it reads the answer to that question.
template <typename Stream>
void ask_with_deadlines(Stream& s, uint64_t key, partition_state& state) {
    std::error_code ec;
    uint64_t asked = 0;
    for (; asked < some_questions; ++asked) ASSERT_TRUE(ask(s, key, asked, ec)) << ec.message();
    ++state.begun;
    eventually([&] { return state.apart.load(); });
    s.write_all(secret_bytes(key, asked * question_size, question_size));  // fits into the system's buffer
    std::array<char, question_size> b;
    for (auto* count : {&state.timed_out, &state.timed_out_twice}) {
        const auto when = steady::now() + 20ms;
        s.set_read_deadline(when);
        EXPECT_EQ(s.read(b, ec), 0U);
        EXPECT_EQ(ec, weft::errc::timed_out) << ec.message();
        const int64_t late_us = std::chrono::floor<std::chrono::microseconds>(steady::now() - when).count();
        EXPECT_GE(late_us, 0);
        int64_t least = state.least_late_us;
        while (late_us < least && !state.least_late_us.compare_exchange_weak(least, late_us)) {}
        ++*count;
    }
    s.clear_deadline();
    EXPECT_EQ(s.read(b), b.size());
    EXPECT_TRUE(are_secret_bytes(b.data(), b.size(), key, asked * question_size)) << "the late answer";
    for (uint64_t i = 0; i < some_questions; ++i) ASSERT_TRUE(ask(s, key, ++asked, ec)) << ec.message();
    s.shutdown_send();
    EXPECT_EQ(s.read_some(b), 0U);
}

template <typename Over>
void a_partition_that_heals_loses_nothing() {
    constexpr int count = 10;  // half of them with deadlines
    bad_link<Over> link(fault_plan{});
    std::vector<two<Over>> pairs = link.connect(count);
    partition_state state;
    wait_group near;
    wait_group far;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        far.go([&, i] { EXPECT_FALSE(echo(pairs[i].far)); });
        near.go([&, i] {
            i % 2 == 0 ? ask_patiently(pairs[i].near, i, state) : ask_with_deadlines(pairs[i].near, i, state);
        });
    }
    eventually([&] { return state.begun == count; });
    link.proxy.partition();
    state.apart = true;
    eventually([&] { return state.timed_out == count / 2; });
    two<Over> late;  // connects during the partition
    near.go([&] {
        late.near = Over::connect(link.proxy.at(), late.error);
        EXPECT_TRUE(ask(late.near, 1000, 0, late.error)) << late.error.message();
        late.near.shutdown_send();
        char b[1];
        EXPECT_EQ(late.near.read_some(b), 0U);
    });
    eventually([&] { return state.timed_out_twice == count / 2; });
    EXPECT_LT(state.least_late_us, 1'000'000) << "not one was in time";
    EXPECT_EQ(state.answered_apart, 0);
    EXPECT_EQ(link.proxy.now().accepted, count);
    state.healing = true;
    link.proxy.heal();
    state.together = true;
    std::error_code ec;
    late.far = Over::accept(link.listener(), ec);
    far.go([&] { EXPECT_FALSE(echo(late.far)); });
    near.wait();
    far.wait();
    pairs.clear();
    late = {};
    eventually([&] { return link.proxy.now().open == 0; });
    const auto books = link.proxy.now();
    EXPECT_EQ(books.accepted, count + 1);
    EXPECT_EQ(books.ended, count + 1);
}

// The servers have their own runtime, which stops during a partition.
template <typename Over>
void a_runtime_stops_during_a_partition(runtime& rt, unsigned procs) {
    constexpr int count = 8;
    runtime server({.procs = procs});
    bad_link<Over> link(fault_plan{});
    std::vector<two<Over>> pairs;
    rt.run([&] { pairs = link.connect(count); });
    std::atomic<int> answered = 0;
    std::atomic<int> timed_out = 0;
    std::atomic<int> closed = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        server.go([&, i] { static_cast<void>(echo(pairs[i].far)); });
        rt.go([&, i] {
            auto& s = pairs[i].near;
            std::error_code ec;
            uint64_t asked = 0;
            while (ask(s, i, asked, ec)) {
                if (++asked != some_questions) continue;
                // Half of them have a deadline, which passes during the partition, or begins there.
                if (++answered == count) link.proxy.partition();
                if (i % 2 == 0) s.set_deadline(steady::now() + 50ms);
            }
            timed_out += ec == weft::errc::timed_out ? 1 : 0;
            closed += ec == weft::errc::closed ? 1 : 0;
        });
    }
    eventually([&] { return timed_out == count / 2; });
    const stop_outcome outcome = server.shutdown(60s);
    EXPECT_EQ(outcome.abandoned, 0U);
    EXPECT_EQ(outcome.stragglers, 0U);
    EXPECT_EQ(closed, 0) << "they wait, and have heard nothing of it";
    rt.run([&] {
        for (two<Over>& t : pairs) t.near.close();
    });
    rt.drain();
    EXPECT_EQ(timed_out, count / 2);
    EXPECT_EQ(closed, count / 2);
}

// ---- Everything at random.

struct lot {
    fault_plan plan;
    fate planned = fate::none;
};

inline lot lot_of(uint64_t seed, int number) {
    prng random(seed + static_cast<uint64_t>(number) * 7919);
    const auto some_weather = [&] {
        weather w = all_weathers()[static_cast<std::size_t>(random.below(static_cast<int>(all_weathers().size())))];
        if (w.rate != 0) w.rate = 200'000;
        if (w.stall_every != 0) w.stall_every = 1000;
        return w;
    };
    lot l{.plan = {.up = some_weather(), .down = some_weather(), .seed = random.next()}, .planned = {}};
    constexpr std::array fates{fate::none, fate::none, fate::reset, fate::cut, fate::ignore, fate::swallow};
    l.planned = fates[static_cast<std::size_t>(random.below(fates.size()))];
    weather& which = random.one_in(2) ? l.plan.up : l.plan.down;
    which.then = l.planned;
    which.after = static_cast<uint64_t>(random.below(9 * question_size));  // before the last of ten questions
    return l;
}

// Each connection ends as planned: complete and correct, lost, or timed out.
template <typename Over>
void each_connection_ends_as_its_lot_is(uint64_t seed) {
    constexpr int count = 30;
    constexpr uint64_t questions = 10;
    bad_link<Over> link([seed](int number) { return lot_of(seed, number).plan; });
    std::vector<two<Over>> pairs = link.connect(count);
    std::array<std::atomic<int>, 5> by_fate{};
    wait_group near;
    wait_group far;
    for (int i = 0; i < count; ++i) {
        two<Over>& t = pairs[static_cast<std::size_t>(i)];
        far.go([&t] { static_cast<void>(echo(t.far)); });
        near.go([&, i] {
            const fate planned = lot_of(seed, i).planned;
            const bool silent = planned == fate::ignore || planned == fate::swallow;
            const auto when = steady::now() + 100ms;
            if (silent) t.near.set_deadline(when);
            std::error_code ec = t.error;
            uint64_t answers = 0;
            while (!ec && answers < questions && ask(t.near, static_cast<uint64_t>(i), answers, ec)) ++answers;
            ++by_fate[static_cast<std::size_t>(planned)];
            if (planned == fate::none) {
                EXPECT_EQ(answers, questions) << i << ": " << ec.message();
                t.near.shutdown_send();
                char b[1];
                EXPECT_EQ(t.near.read_some(b), 0U);
                return;
            }
            EXPECT_LT(answers, questions) << i;
            if (silent) {
                EXPECT_EQ(ec, weft::errc::timed_out) << i << ": " << ec.message();
                EXPECT_GE(steady::now(), when);
            } else if (planned == fate::reset) {
                EXPECT_TRUE(Over::is_lost(ec)) << i << ": " << ec.message();
            } else {
                EXPECT_TRUE(Over::is_cut(ec)) << i << ": " << ec.message();
            }
        });
    }
    near.wait();
    for (auto& t : pairs) t.near.close();
    for (auto& t : pairs) t.far.close();  // some never receive it
    far.wait();
    eventually([&] { return link.proxy.now().open == 0; });
    const auto books = link.proxy.now();
    const auto meant_for = [&](fate f) { return by_fate[static_cast<std::size_t>(f)].load(); };
    EXPECT_EQ(books.accepted, count);
    EXPECT_EQ(books.ended + books.fated + books.broken, count);
    EXPECT_GE(books.ended, meant_for(fate::none));
    // The others may have timed out while slow, before they fell silent.
    EXPECT_GE(books.fated, meant_for(fate::reset) + meant_for(fate::cut));
}

}  // namespace weft::test::bad_network
