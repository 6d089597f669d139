// select_stress_test.cc: many selects and plain operations at once, in all combinations, in green
// and plain threads: every operation meets exactly one other.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"
#include "support/tally.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using SelectStress = procs_test;
WEFT_SWEEP(SelectStress);

using four_channels = std::array<chan<int>, 4>;

// Sends one number to any of the channels that are not nil yet, by one select. Returns which one
// took it.
std::size_t send_to_any(const four_channels& c, int v) {
    return select(on_send(c[0], int{v}, [] {}), on_send(c[1], int{v}, [] {}), on_send(c[2], int{v}, [] {}),
                  on_send(c[3], int{v}, [] {}));
}

template <typename F>
std::size_t receive_from_any(const four_channels& c, F f) {
    return select(on_recv(c[3], f), on_recv(c[2], f), on_recv(c[1], f), on_recv(c[0], f));
}

// A sender sends the numbers [from, from + 4 * each), `each` of them to every channel. A receiver
// takes as many, `each` from every channel.
using sender = std::function<void(const four_channels&, int from, int each)>;
using receiver = std::function<void(const four_channels&, int each, tally&)>;

void send_one_by_one(const four_channels& c, int from, int each) {
    for (int i = 0; i < 4 * each; ++i) c[static_cast<std::size_t>(i) / static_cast<std::size_t>(each)].send(from + i);
}

// A channel that has had its share becomes nil, and no longer takes part.
void send_by_select(const four_channels& all, int from, int each) {
    four_channels c = all;
    std::array<int, 4> done{};
    for (int i = 0; i < 4 * each; ++i) {
        const std::size_t which = send_to_any(c, from + i);
        if (++done[which] == each) c[which] = chan<int>::nil();
    }
}

void receive_one_by_one(const four_channels& c, int each, tally& seen) {
    for (int i = 0; i < 4 * each; ++i) {
        const std::optional<int> v = c[static_cast<std::size_t>(i) / static_cast<std::size_t>(each)].recv();
        seen.mark(static_cast<std::size_t>(v.value_or(-1)));
    }
}

void receive_by_select(const four_channels& all, int each, tally& seen) {
    four_channels c = all;
    std::array<int, 4> done{};
    for (int i = 0; i < 4 * each; ++i) {
        const std::size_t which =
            3 - receive_from_any(c, [&](std::optional<int> v) { seen.mark(static_cast<std::size_t>(v.value_or(-1))); });
        if (++done[which] == each) c[which] = chan<int>::nil();
    }
}

// Each select tries one channel for a moment, then the next one that is still due.
void send_with_timeouts(const four_channels& c, int from, int each) {
    std::array<int, 4> done{};
    std::size_t at = 0;
    for (int i = 0; i < 4 * each; at = (at + 1) % 4) {
        if (done[at] == each) continue;
        if (select(send_case(c[at], from + i), timeout_case(20us)).index() != 0) continue;
        ++done[at];
        ++i;
    }
}

void receive_with_timeouts(const four_channels& c, int each, tally& seen) {
    std::array<int, 4> done{};
    std::size_t at = 3;
    for (int i = 0; i < 4 * each; at = (at + 3) % 4) {
        if (done[at] == each) continue;
        auto r = select(recv_case(c[at]), timeout_case(20us), recv_case(chan<int>::nil()));
        if (r.index() != 0) continue;
        seen.mark(static_cast<std::size_t>(std::get<0>(r).value_or(-1)));
        ++done[at];
        ++i;
    }
}

const std::vector<sender>& senders() {
    static const std::vector<sender> all = {send_one_by_one, send_by_select, send_with_timeouts, send_by_select};
    return all;
}

const std::vector<receiver>& receivers() {
    static const std::vector<receiver> all = {receive_by_select, receive_one_by_one, receive_by_select,
                                              receive_with_timeouts};
    return all;
}

four_channels channels_with(std::size_t cap) {
    return {chan<int>(cap), chan<int>(cap), chan<int>(cap), chan<int>(cap)};
}

TEST_P(SelectStress, AllCombinationsOfPlainOperationsAndSelectsMeet) {
    const int each = scaled(1000);
    for (const std::size_t cap : {0U, 1U, 7U}) {
        const four_channels c = channels_with(cap);
        tally seen(senders().size() * 4 * static_cast<std::size_t>(each));
        int first = 0;
        for (std::size_t k = 0; k < senders().size(); ++k) {
            rt().go([&c, f = senders()[k], first, each] { f(c, first, each); });
            rt().go([&c, f = receivers()[k], each, &seen] { f(c, each, seen); });
            first += 4 * each;
        }
        rt().drain();
        EXPECT_TRUE(seen.exactly_once()) << "capacity " << cap;
    }
}

TEST_P(SelectStress, GreenAndPlainThreadsMeet) {
    const int each = scaled(500);
    for (const std::size_t cap : {0U, 2U}) {
        const four_channels c = channels_with(cap);
        tally seen(senders().size() * 4 * static_cast<std::size_t>(each));
        std::vector<std::thread> threads;
        int first = 0;
        for (std::size_t k = 0; k < senders().size(); ++k) {
            const auto send = [&c, f = senders()[k], first, each] { f(c, first, each); };
            const auto receive = [&c, f = receivers()[k], each, &seen] { f(c, each, seen); };
            if (k % 2 == 0) {
                threads.emplace_back(send);
                rt().go(receive);
            } else {
                rt().go(send);
                threads.emplace_back(receive);
            }
            first += 4 * each;
        }
        for (std::thread& t : threads) t.join();
        rt().drain();
        EXPECT_TRUE(seen.exactly_once()) << "capacity " << cap;
    }
}

TEST_P(SelectStress, GreenThreadsOfTwoRuntimesMeet) {
    const int each = scaled(500);
    runtime other({.procs = 2});
    const four_channels c = channels_with(0);
    tally seen(senders().size() * 4 * static_cast<std::size_t>(each));
    int first = 0;
    for (std::size_t k = 0; k < senders().size(); ++k) {
        runtime& here = k % 2 == 0 ? rt() : other;
        runtime& there = k % 2 == 0 ? other : rt();
        here.go([&c, f = senders()[k], first, each] { f(c, first, each); });
        there.go([&c, f = receivers()[k], each, &seen] { f(c, each, seen); });
        first += 4 * each;
    }
    rt().drain();
    other.drain();
    EXPECT_TRUE(seen.exactly_once());
}

// Selects on both sides of one pair of channels: none executes two of its cases.
TEST_P(SelectStress, NoSelectExecutesTwoCases) {
    const int messages = scaled(20000);
    rt().run([messages] {
        const four_channels c;
        const chan<int> merged;
        tally seen(static_cast<std::size_t>(messages));
        wait_group muxers;
        for (int m = 0; m < 3; ++m) {
            muxers.go([&] {
                four_channels left = c;
                for (int open = 4; open > 0;) {
                    std::optional<int> v;
                    const std::size_t which = 3 - receive_from_any(left, [&](std::optional<int> got) { v = got; });
                    if (v) {
                        merged.send(*v);
                    } else {
                        left[which] = chan<int>::nil();
                        --open;
                    }
                }
            });
        }
        go([&, c] {
            for (int i = 0; i < messages; ++i) send_to_any(c, i);
            for (const chan<int>& each : c) each.close();
        });
        go([&] {
            muxers.wait();
            merged.close();
        });
        for (const int v : merged) seen.mark(static_cast<std::size_t>(v));
        EXPECT_TRUE(seen.exactly_once());
    });
}

// A select and a plain operation of another green thread always meet if they are alone, whatever
// the select's other cases are.
TEST_P(SelectStress, ASelectAlwaysMeetsAPlainOperation) {
    const int rounds = scaled(300);
    constexpr std::size_t polls = 1;  // the number of the one that polls, on either side
    const std::vector<std::function<int(const chan<int>&, const chan<int>&)>> takers = {
        [](const chan<int>& c, const chan<int>&) { return c.recv().value_or(-1); },
        [](const chan<int>& c, const chan<int>&) {
            for (;;) {
                if (const auto r = c.try_recv()) return *r;
                if (!weft::yield()) std::this_thread::yield();
            }
        },
        [](const chan<int>& c, const chan<int>& d) {
            auto r = select(recv_case(c), recv_case(d));
            return r.index() == 0 ? std::get<0>(r).value_or(-1) : -2;
        },
        [](const chan<int>& c, const chan<int>& d) {
            auto r = select(send_case(d, 1), recv_case(c), send_case(d, 1));
            return r.index() == 1 ? std::get<1>(r).value_or(-1) : -2;
        },
        [](const chan<int>& c, const chan<int>& d) {
            auto r = select(recv_case(c), send_case(d, 1), recv_case(c), recv_case(d));
            return r.index() == 0 ? std::get<0>(r).value_or(-1) : r.index() == 2 ? std::get<2>(r).value_or(-1) : -2;
        },
        [](const chan<int>& c, const chan<int>&) { return c.recv_for(1h).value.value_or(-1); },
    };
    const std::vector<std::function<void(const chan<int>&, const chan<int>&, int)>> givers = {
        [](const chan<int>& c, const chan<int>&, int v) { c.send(v); },
        [](const chan<int>& c, const chan<int>&, int v) {
            while (c.try_send(int{v}) != chan_status::ok) {
                if (!weft::yield()) std::this_thread::yield();
            }
        },
        [](const chan<int>& c, const chan<int>& e, int v) {
            static_cast<void>(select(send_case(c, int{v}), recv_case(e)));
        },
        [](const chan<int>& c, const chan<int>& e, int v) {
            static_cast<void>(select(send_case(e, 0), send_case(c, int{v}), recv_case(e), send_case(c, int{v})));
        },
    };
    rt().run([&] {
        for (std::size_t t = 0; t < takers.size(); ++t) {
            for (std::size_t g = 0; g < givers.size(); ++g) {
                for (const std::size_t cap : {0U, 1U}) {
                    if (t == polls && g == polls && cap == 0) continue;  // two that do not wait never meet
                    const chan<int> c(cap);
                    const chan<int> only_taker;
                    const chan<int> only_giver;
                    wait_group giver;
                    giver.go([&] {
                        for (int i = 0; i < rounds; ++i) givers[g](c, only_giver, i);
                    });
                    int wrong = 0;
                    for (int i = 0; i < rounds; ++i) wrong += takers[t](c, only_taker) != i;
                    giver.wait();
                    EXPECT_EQ(wrong, 0);
                }
            }
        }
    });
}

}  // namespace
}  // namespace weft::test
