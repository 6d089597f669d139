// All orders that differ in what an operation sees are tried, and few others. What all orders give
// is what `exhaustive` gives.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/sim/shared.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

namespace weft::test {

namespace {

using sim::strategy;

constexpr uint64_t many = 50'000;

// A longer run: WEFT_DPOR_PROGRAMS=1000.
uint32_t programs() {
    const char* wanted = std::getenv("WEFT_DPOR_PROGRAMS");
    return wanted == nullptr ? 30 : static_cast<uint32_t>(std::strtoul(wanted, nullptr, 10));
}

sim::report all_orders(const std::function<void()>& body, std::chrono::nanoseconds lateness = 0ns) {
    return sim::explore({.schedules = 10 * many, .pick = strategy::dpor, .lateness = lateness, .lock_order = false},
                        body);
}

sim::report all_preemptions(const std::function<void()>& body, std::chrono::nanoseconds lateness) {
    return sim::explore({.schedules = many,
                         .pick = strategy::exhaustive,
                         .preemptions = 1000,
                         .lateness = lateness,
                         .lock_order = false},
                        body);
}

// Each of n green threads does f(its number).
template <typename F>
void each_of(int n, F f) {
    wait_group all;
    for (int i = 0; i < n; ++i) all.go([&f, i] { f(i); });
    all.wait();
}

uint64_t schedules_of(const std::function<void()>& body) {
    const sim::report r = all_orders(body);
    EXPECT_TRUE(r.exhausted) << r.text();
    return r.schedules;
}

// ---- Random programs.

// What a program does is drawn once, and is the same in each schedule. Its text says what each
// operation saw, green thread by green thread.
class random_program {
public:
    random_program(uint32_t seed, int threads, int operations) : random_(seed) {
        threads_.resize(static_cast<std::size_t>(threads));
        for (auto& all : threads_)
            for (int i = 0; i < operations; ++i) all.push_back({below(kinds), below(objects)});
    }

    void run(std::set<std::string>& results) const {
        state s;
        std::vector<std::string> seen(threads_.size());
        each_of(static_cast<int>(threads_.size()), [&](int i) {
            for (const step& one : threads_[static_cast<std::size_t>(i)])
                act(s, one, i, seen[static_cast<std::size_t>(i)]);
        });
        std::string result;
        for (const std::string& one : seen) result += one + "|";
        results.insert(result);
    }

private:
    static constexpr uint32_t kinds = 15;
    static constexpr uint32_t objects = 2;

    struct step {
        uint32_t kind;
        uint32_t object;
    };

    struct state {
        sim::shared<int> values[objects]{sim::shared<int>(0), sim::shared<int>(0)};
        mutex locks[objects];
        int guarded[objects]{};  // by locks
        chan<int> channels[objects]{chan<int>(1), chan<int>(1)};
        counting_semaphore<> places{1};
        event happened;
        condition_variable changed[objects];
    };

    // `values` are accessed with a lock held, or the verdict would be a race.
    static void act(state& s, const step& one, int thread, std::string& seen) {
        const uint32_t at = one.object;
        switch (one.kind) {
            case 0: {
                const std::lock_guard held(s.locks[at]);
                s.guarded[at] = s.guarded[at] * 3 + thread + 1;
                seen += std::to_string(s.guarded[at]) + ",";
                return;
            }
            case 1: {
                const bool got = s.locks[at].try_lock();
                if (got) s.locks[at].unlock();
                seen += got ? "y" : "n";
                return;
            }
            case 2:
                seen += s.channels[at].try_send(thread) ? "s" : "f";
                return;
            case 3: {
                const auto got = s.channels[at].try_recv();
                seen += got ? std::to_string(*got) : "-";
                return;
            }
            case 4: {
                const std::lock_guard outer(s.locks[0]);
                s.values[at] = s.values[at] * 2 + thread + 1;
                seen += std::to_string(s.values[at]) + ";";
                return;
            }
            case 5: {
                const bool got = s.places.try_acquire();
                if (got) s.places.release();
                seen += got ? "Y" : "N";
                return;
            }
            case 6:
                s.happened.set();
                return;
            case 7:
                seen += s.happened.is_set() ? "h" : ".";
                return;
            case 8:
                seen += std::to_string(s.channels[at].size());
                return;
            case 9:
                s.channels[at].send(thread);
                return;
            case 10:
                seen += std::to_string(s.channels[at].recv().value_or(-1));
                return;
            case 11:
                seen += std::to_string(sim::choose(2));
                return;
            case 12:
                select(on_recv(s.channels[0], [&](std::optional<int> got) { seen += "0" + std::to_string(*got); }),
                       on_recv(s.channels[1], [&](std::optional<int> got) { seen += "1" + std::to_string(*got); }),
                       otherwise([&] { seen += "x"; }));
                return;
            case 13: {
                std::unique_lock held(s.locks[at]);
                const bool in_time = s.changed[at].wait_for(held, 1ms, [&] { return s.guarded[at] != 0; });
                seen += in_time ? "c" : "t";
                return;
            }
            default: {
                const std::lock_guard held(s.locks[at]);
                s.guarded[at] = thread + 1;
                s.changed[at].notify_one();
                return;
            }
        }
    }

    uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

    std::mt19937 random_;
    std::vector<std::vector<step>> threads_;
};

}  // namespace

// Each future has two orders: its value comes before get(), or after.
TEST(Dpor, TriesOneOrderOfStepsThatDoNotAffectEachOther) {
    mutex locks[3];
    EXPECT_EQ(schedules_of([&] {
                  std::vector<std::unique_ptr<sim::shared<int>>> own;
                  for (int i = 0; i < 3; ++i) own.push_back(std::make_unique<sim::shared<int>>(0));
                  future<void> done[3];
                  for (std::size_t i = 0; i < 3; ++i)
                      done[i] = async([&, i] {
                          for (int round = 0; round < 20; ++round) {
                              const std::lock_guard held(locks[i]);
                              *own[i] = round;
                          }
                      });
                  for (auto& d : done) d.get();
              }),
              8U);
}

TEST(Dpor, TriesEachOrderOfStepsThatDo) {
    std::set<std::string> orders;
    schedules_of([&] {
        std::string order;
        mutex m;
        future<void> done[4];
        for (std::size_t i = 0; i < 4; ++i)
            done[i] = async([&, i] {
                const std::lock_guard held(m);
                order += static_cast<char>('a' + i);
            });
        for (auto& d : done) d.get();
        orders.insert(order);
    });
    EXPECT_EQ(orders.size(), 24U);
}

TEST(Dpor, FindsWhatAllOrdersGive) {
    int whole = 0;
    int deadlocks = 0;
    uint64_t reduced = 0;
    uint64_t full = 0;
    for (uint32_t seed = 1; seed <= programs(); ++seed) {
        const bool three = seed % 2 == 0;
        const random_program program(seed, three ? 3 : 2, three ? 1 : 2);
        const std::chrono::nanoseconds lateness = seed % 4 < 2 ? 0ns : 10ms;
        std::set<std::string> expected;
        std::set<std::string> found;
        const sim::report all = all_preemptions([&] { program.run(expected); }, lateness);
        const sim::report some = all_orders([&] { program.run(found); }, lateness);
        ASSERT_TRUE(some.exhausted || !some) << "program " << seed << ": " << some.text();
        if (!all || !some) {  // a deadlock ends both
            if (!all || all.exhausted) {
                EXPECT_EQ(all.result, some.result) << "program " << seed;
            }
            deadlocks += all ? 0 : 1;
            continue;
        }
        EXPECT_TRUE(std::ranges::includes(found, expected)) << "program " << seed;
        if (!all.exhausted) continue;
        EXPECT_EQ(found, expected) << "program " << seed;
        ++whole;
        reduced += some.schedules;
        full += all.schedules;
    }
    EXPECT_GT(whole, 10);
    EXPECT_GT(deadlocks, 2);
    EXPECT_LT(reduced * 20, full);
}

// wait() of a condition variable also unlocks: try_lock() sees it before and after.
TEST(Dpor, TriesWhatAnOperationDoesBesides) {
    std::set<bool> results;
    schedules_of([&] {
        mutex m;
        condition_variable never;
        bool got = false;
        future<void> first = async([&] {
            std::unique_lock held(m);
            never.wait_for(held, 1ms);
        });
        future<void> second = async([&] {
            got = m.try_lock();
            if (got) m.unlock();
        });
        first.get();
        second.get();
        results.insert(got);
    });
    EXPECT_EQ(results, (std::set{false, true}));
}

// A timer that a step stops is tried before that step.
TEST(Dpor, TriesATimerBeforeItIsStopped) {
    std::set<int> results;
    const auto body = [&] {
        int fired = 0;
        timer t = after_func(1ms, [&] { ++fired; });
        checkpoint();
        t.stop();
        checkpoint();
        results.insert(fired);
    };
    EXPECT_TRUE(all_orders(body, 10ms).exhausted);
    EXPECT_EQ(results, (std::set{0, 1}));
}

TEST(Dpor, RefusesStepsOnlyWhereOneWaits) {
    EXPECT_THROW(static_cast<void>(sim::explore({.pick = strategy::dpor, .before_operations = false}, [] {})),
                 std::invalid_argument);
}

}  // namespace weft::test
