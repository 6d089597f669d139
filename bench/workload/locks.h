// locks.h: how fairly a lock is shared, and how late; a reader-writer lock; a condition variable.
#pragma once

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <vector>

#include "measurement.h"

namespace bench {

// Keeps the CPU busy for that long.
inline void spin_for(int64_t ns) {
    const int64_t begin = now_ns();
    while (now_ns() - begin < ns) {}
}

// The result of K tasks that took a lock N times in total, each as often as it could.
struct contest {
    std::vector<int64_t> shares;  // acquisitions of each task
    int64_t elapsed_ns = 0;
    int64_t longest_wait_ns = 0;  // only if waits were timed
};

// section_ns: how long the lock is held; 0: a decrement only. Waits are timed in a separate round,
// since reading the clock around every lock() would dominate.
template <typename Runtime>
contest contend(int64_t tasks, int64_t total, int64_t section_ns, bool time_waits) {
    contest result;
    result.shares.resize(static_cast<size_t>(tasks));
    std::vector<int64_t> waits(static_cast<size_t>(tasks));
    typename Runtime::mutex lock;
    int64_t left = total;
    typename Runtime::wait_group done;
    done.add(tasks);

    const int64_t begin = now_ns();
    for (int64_t i = 0; i < tasks; ++i) {
        Runtime::go([&, i] {
            int64_t mine = 0;
            int64_t longest = 0;
            for (bool more = true; more;) {
                const int64_t asked = time_waits ? now_ns() : 0;
                lock.lock();
                if (time_waits) longest = std::max(longest, now_ns() - asked);
                more = left > 0;
                if (more) {
                    --left;
                    if (section_ns > 0) spin_for(section_ns);
                }
                lock.unlock();
                mine += more ? 1 : 0;
            }
            result.shares[static_cast<size_t>(i)] = mine;
            waits[static_cast<size_t>(i)] = longest;
            done.done();
        });
    }
    done.wait();
    result.elapsed_ns = now_ns() - begin;
    result.longest_wait_ns = *std::max_element(waits.begin(), waits.end());
    check(std::accumulate(result.shares.begin(), result.shares.end(), int64_t{0}) == total,
          "mutex_fair: every turn belongs to a task");
    return result;
}

// C is the time that the lock is held, in nanoseconds. share_spread is the difference between the
// most and least acquisitions of a task, in fair shares.
template <typename Runtime>
measurement run_mutex_fair(const run_arguments& arguments) {
    const int64_t tasks = arguments.k;
    contend<Runtime>(tasks, arguments.n / 10 + tasks, arguments.cap, false);
    const contest fast = contend<Runtime>(tasks, arguments.n, arguments.cap, false);
    const contest timed = contend<Runtime>(tasks, arguments.n, arguments.cap, true);

    const auto [least, most] = std::minmax_element(fast.shares.begin(), fast.shares.end());
    measurement result;
    result.add_per_op("ns_per_op", fast.elapsed_ns, arguments.n);
    result.add("max_wait_us", static_cast<double>(timed.longest_wait_ns) / 1e3);
    result.add("share_spread", static_cast<double>((*most - *least) * tasks) / static_cast<double>(arguments.n));
    return result;
}

// K tasks share eight words under a reader-writer lock; one operation in ten writes them, the
// others read.
template <typename Runtime>
measurement run_rwlock(const run_arguments& arguments) {
    constexpr int64_t write_every = 10;
    const int64_t tasks = arguments.k;
    int64_t elapsed = 0;
    const auto share = [&](int64_t total) {
        const int64_t each = total / tasks;
        typename Runtime::shared_mutex lock;
        std::array<int64_t, 8> words{};
        typename Runtime::wait_group done;
        done.add(tasks);
        const int64_t begin = now_ns();
        for (int64_t i = 0; i < tasks; ++i) {
            Runtime::go([&] {
                for (int64_t j = 0; j < each; ++j) {
                    if (j % write_every == write_every - 1) {
                        const std::unique_lock write(lock);
                        for (int64_t& word : words) ++word;
                    } else {
                        const std::shared_lock read(lock);
                        const int64_t sum = std::accumulate(words.begin(), words.end(), int64_t{0});
                        check(sum == 8 * words[0], "rwlock: no task writes while another reads");
                    }
                }
                done.done();
            });
        }
        done.wait();
        elapsed = now_ns() - begin;
        check(words[7] == each / write_every * tasks, "rwlock: no increment is lost");
    };
    share(arguments.n / 10 + tasks);
    share(arguments.n);

    measurement result;
    result.add_per_op("ns_per_op", elapsed, arguments.n / tasks * tasks);
    return result;
}

// Two tasks alternate on a flag, a mutex and one condition variable; N round trips.
template <typename Runtime>
measurement run_cond_pingpong(const run_arguments& arguments) {
    int64_t elapsed = 0;
    const auto play = [&](int64_t rounds) {
        typename Runtime::mutex lock;
        typename Runtime::condition_variable changed;
        int64_t turns = 0;
        typename Runtime::wait_group done;
        done.add(2);
        const int64_t begin = now_ns();
        for (const int64_t me : {0, 1}) {
            Runtime::go([&, me] {
                for (int64_t i = 0; i < rounds; ++i) {
                    std::unique_lock<typename Runtime::mutex> locked(lock);
                    while (turns % 2 != me) changed.wait(locked);
                    ++turns;
                    changed.notify_one();
                }
                done.done();
            });
        }
        done.wait();
        elapsed = now_ns() - begin;
        check(turns == 2 * rounds, "cond_pingpong: every turn was taken");
    };
    play(arguments.n / 10 + 1);
    play(arguments.n);

    measurement result;
    result.add_per_op("ns_per_op", elapsed, arguments.n);
    return result;
}

}  // namespace bench
