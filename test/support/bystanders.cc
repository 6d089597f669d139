#include "bystanders.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <weft/weft.h>

namespace weft::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr int sleeps = 11;
constexpr int messages = 300;
constexpr int timers = 10;
constexpr int turns = 200;
constexpr std::chrono::seconds limit(25);

// A busy machine has bad moments, so one good comparison is enough.
constexpr int comparisons = 5;

// The median lateness on a P may be this many times that of a plain thread at the same time, plus a
// slice or two. That only excludes long delays: a retake ten times too late passes.
// conformance/retake_time_test.cc measures the delay.
constexpr int lateness_factor = 5;
constexpr nanoseconds lateness_slack = 20ms;

template <typename SleepUntil>
nanoseconds median_lateness(SleepUntil&& sleep_until) {
    std::vector<nanoseconds> late;
    for (int i = 0; i < sleeps; ++i) {
        const auto due = steady_clock::now() + 10ms;
        sleep_until(due);
        late.push_back(steady_clock::now() - due);
    }
    std::ranges::nth_element(late, late.begin() + sleeps / 2);
    return late[sleeps / 2];
}

void ping_pong() {
    const chan<int> there;
    const chan<int> back;
    wait_group partner;
    partner.go([=] {
        for (const int v : there) back.send(v + 1);
    });
    for (int i = 0; i < messages; ++i) {
        there.send(i);
        if (back.recv() != i + 1) std::abort();
    }
    there.close();
    partner.wait();
}

void fire_timers() {
    wait_group fired;
    fired.add(timers);
    for (int i = 0; i < timers; ++i) after_func(std::chrono::milliseconds(i), [&] { fired.done(); }).detach();
    fired.wait();
}

void take_turns() {
    for (int i = 0; i < turns; ++i) weft::yield();
}

}  // namespace

struct bystanders::state {
    explicit state(runtime& r) : rt(r) {}

    runtime& rt;
    latch others{3};
};

bystanders::bystanders(runtime& rt) : state_(std::make_shared<state>(rt)) {
    const std::shared_ptr<state> s = state_;
    for (void (*body)() : {&ping_pong, &fire_timers, &take_turns}) {
        rt.go([s, body] {
            body();
            s->others.count_down();
        });
    }
}

::testing::AssertionResult bystanders::go_on() {
    const auto deadline = steady_clock::now() + limit;
    for (int comparison = 1;; ++comparison) {
        auto sleeper = state_->rt.async(
            [] { return median_lateness([](steady_clock::time_point due) { weft::sleep_until(due); }); });
        const nanoseconds plain =
            median_lateness([](steady_clock::time_point due) { std::this_thread::sleep_until(due); });
        if (sleeper.wait_until(deadline) != std::future_status::ready || !state_->others.wait_until(deadline))
            return ::testing::AssertionFailure() << "green threads are held up for " << limit.count() << " s";
        const nanoseconds green = sleeper.get();
        if (green <= lateness_factor * plain + lateness_slack) return ::testing::AssertionSuccess();
        if (comparison == comparisons) {
            return ::testing::AssertionFailure() << "a green sleeper was late by " << green.count()
                                                 << " ns, a plain one by " << plain.count() << " ns";
        }
    }
}

}  // namespace weft::test
