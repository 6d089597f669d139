// cforall.h: five stress programs for schedulers, from the Cforall project's measurements. The
// fifth, yield, is in yield.h.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "measurement.h"
#include "random.h"

namespace bench {

// K rings of five tasks; each waits for its own semaphore and releases the next one's. N hops in
// total.
template <typename Runtime>
measurement run_cycle(const run_arguments& arguments) {
    constexpr int64_t ring = 5;
    const int64_t tasks = ring * arguments.k;
    const int64_t turns = arguments.n / tasks + 1;
    std::vector<std::unique_ptr<typename Runtime::semaphore>> semaphores;
    for (int64_t i = 0; i < tasks; ++i) semaphores.push_back(std::make_unique<typename Runtime::semaphore>(0));
    std::atomic<int64_t> hops{0};
    typename Runtime::wait_group done;
    done.add(tasks);
    const int64_t begin = now_ns();
    for (int64_t i = 0; i < tasks; ++i) {
        Runtime::go([&, i] {
            auto& mine = *semaphores[static_cast<size_t>(i)];
            auto& next = *semaphores[static_cast<size_t>(i % ring == ring - 1 ? i - ring + 1 : i + 1)];
            for (int64_t turn = 0; turn < turns; ++turn) {
                mine.acquire();
                next.release();
            }
            hops.fetch_add(turns);
            done.done();
        });
    }
    for (int64_t i = 0; i < tasks; i += ring) semaphores[static_cast<size_t>(i)]->release();
    done.wait();
    const int64_t elapsed = now_ns() - begin;
    check(hops.load() == turns * tasks, "cycle: every task had its turns");

    measurement result;
    result.add_per_op("ns_per_op", elapsed, turns * tasks);
    return result;
}

// Places where tasks meet. An arriving task releases the one that waits there, and waits in its
// stead. With half as many places as tasks, some are always moving.
//
// After the last turn all tasks leave and release all waiters. An arrived task checks for the end
// again before it waits; a task that has set the end checks every place.
template <typename Runtime>
class meeting {
public:
    // words: the length of each task's array, which the task that it releases takes over; 0: no
    // array.
    meeting(int64_t tasks, int64_t turns, int64_t words) : turns_left_(turns), places_(static_cast<size_t>(tasks / 2)) {
        for (int64_t i = 0; i < tasks; ++i) {
            people_.push_back(std::make_unique<person>());
            people_.back()->luggage.resize(static_cast<size_t>(words));
        }
    }

    // The body of task `me`.
    void wander(int64_t me, int64_t touches) {
        person& self = person_at(me + 1);
        for (int64_t step = 0;; ++step) {
            const uint64_t draw = random(static_cast<uint64_t>(me << 40 | step));
            for (int64_t i = 0; i < touches; ++i) {
                ++self.luggage[random(draw + static_cast<uint64_t>(i)) % self.luggage.size()];
            }
            self.touched += touches;
            if (turns_left_.fetch_sub(1) <= 0) break;
            std::atomic<int64_t>& place = places_[draw % places_.size()];
            send_on(place.exchange(nobody), self);
            // Once `me` is in the place, the next task there swaps its luggage.
            if (const int64_t other = place.exchange(me + 1); other != nobody) person_at(other).turn.release();
            if (over_.load()) {
                int64_t here = me + 1;
                if (place.compare_exchange_strong(here, nobody)) break;
            }
            self.turn.acquire();
            if (over_.load()) break;
        }
        over_.store(true);
        for (std::atomic<int64_t>& place : places_) send_on(place.exchange(nobody), self);
    }

    int64_t touched() const {
        int64_t sum = 0;
        for (const auto& one : people_) sum += one->touched;
        return sum;
    }

    int64_t marks() const {
        int64_t sum = 0;
        for (const auto& one : people_) {
            for (const int64_t word : one->luggage) sum += word;
        }
        return sum;
    }

private:
    static constexpr int64_t nobody = 0;  // tasks are numbered from 1

    struct person {
        typename Runtime::semaphore turn{0};
        std::vector<int64_t> luggage;
        int64_t touched = 0;
    };

    person& person_at(int64_t number) { return *people_[static_cast<size_t>(number - 1)]; }

    // Releases task `other`, if any, after swapping its luggage with `self`.
    void send_on(int64_t other, person& self) {
        if (other == nobody) return;
        person& found = person_at(other);
        found.luggage.swap(self.luggage);
        found.turn.release();
    }

    std::atomic<int64_t> turns_left_;
    std::atomic<bool> over_{false};
    std::vector<std::atomic<int64_t>> places_;  // the task that waits there
    std::vector<std::unique_ptr<person>> people_;
};

// churn: K tasks meet N times. locality: each also carries 4 KiB, and touches C words of it between
// meetings.
template <typename Runtime>
measurement run_meetings(const run_arguments& arguments) {
    constexpr int64_t luggage_words = 512;
    const int64_t tasks = arguments.k;
    check(tasks >= 2, "churn and locality need two tasks");
    int64_t elapsed = 0;
    const auto meet = [&](int64_t turns) {
        meeting<Runtime> all(tasks, turns, arguments.cap > 0 ? luggage_words : 0);
        typename Runtime::wait_group done;
        done.add(tasks);
        const int64_t begin = now_ns();
        for (int64_t i = 0; i < tasks; ++i) {
            Runtime::go([&all, &done, i, touches = arguments.cap] {
                all.wander(i, touches);
                done.done();
            });
        }
        done.wait();
        elapsed = now_ns() - begin;
        check(all.touched() >= turns * arguments.cap, "churn, locality: every turn was taken");
        check(all.marks() == all.touched(), "churn, locality: no task changed what another was working on");
    };
    meet(arguments.n / 10 + 1);
    meet(arguments.n);

    measurement result;
    result.add_per_op("ns_per_op", elapsed, arguments.n);
    return result;
}

// K tasks with one leader, which changes N times. The leader waits until every task has seen its
// term, then appoints the next. Waiting tasks yield. If a scheduler starves one, it never ends.
template <typename Runtime>
measurement run_transfer(const run_arguments& arguments) {
    const int64_t tasks = arguments.k;
    int64_t elapsed = 0;
    const auto transfer = [&](int64_t times) {
        std::atomic<int64_t> term{0};
        std::vector<std::atomic<int64_t>> seen(static_cast<size_t>(tasks));
        for (auto& one : seen) one.store(-1);
        std::atomic<int64_t> led{0};
        typename Runtime::wait_group done;
        done.add(tasks);
        const int64_t begin = now_ns();
        for (int64_t me = 0; me < tasks; ++me) {
            Runtime::go([&, me] {
                for (int64_t now = 0; now < times;) {
                    seen[static_cast<size_t>(me)].store(now);
                    if (random_below(now, tasks) == me) {
                        for (const auto& one : seen) {
                            while (one.load() < now) Runtime::yield();
                        }
                        led.fetch_add(1);
                        term.store(now + 1);
                    } else {
                        while (term.load() == now) Runtime::yield();
                    }
                    now = term.load();
                }
                done.done();
            });
        }
        done.wait();
        elapsed = now_ns() - begin;
        check(led.load() == times, "transfer: one leader in each term");
    };
    transfer(arguments.n / 10 + 1);
    transfer(arguments.n);

    measurement result;
    result.add("us_per_op", static_cast<double>(elapsed) / 1e3 / static_cast<double>(arguments.n));
    return result;
}

}  // namespace bench
