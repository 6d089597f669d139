// hogs.h: latency beside tasks that compute without yielding: of a sleeper, and of short requests.
#pragma once

#include <atomic>
#include <cmath>
#include <vector>

#include "measurement.h"
#include "samples.h"
#include "work.h"

namespace bench {

// K tasks compute without calls into the runtime, and one sleeps until the next multiple of 10 ms,
// N times. Lateness counts from that time, whether the task was asleep or waiting. The hogs end
// with the last period, for runtimes that cannot interrupt them.
template <typename Runtime>
measurement run_hog_sleeper(const run_arguments& arguments) {
    constexpr int64_t period_ns = 10'000'000;
    const piece_of_work piece(2000);
    std::vector<int64_t> pieces(static_cast<size_t>(arguments.k));
    samples lateness(arguments.n);
    typename Runtime::wait_group done;
    done.add(arguments.k);
    const int64_t begin = now_ns();
    const int64_t end = begin + (arguments.n + 1) * period_ns;
    for (int64_t& mine : pieces) {
        Runtime::go([&] {
            for (; now_ns() < end; ++mine) piece.run();
            done.done();
        });
    }
    for (int64_t i = 1; i <= arguments.n; ++i) {
        const int64_t due = begin + i * period_ns;
        const int64_t wait = due - now_ns();
        if (wait > 0) Runtime::sleep_for(wait);
        lateness.add(now_ns() - due);
    }
    done.wait();
    check(lateness.percentile(0) >= 0, "hog_sleeper: never early");
    for (const int64_t mine : pieces) check(mine > 0, "hog_sleeper: every hog computed");

    measurement result;
    lateness.report(result, "us", 1e3);
    return result;
}

// Arrival times, at random. The requests need half of P cores.
class arrivals {
public:
    static constexpr int64_t short_ns = 2'000;
    static constexpr int64_t long_ns = 2'000'000;

    arrivals(int64_t duration_ns, int p) {
        constexpr double mean_work_ns = 0.99 * short_ns + 0.01 * long_ns;
        const double apart_ns = mean_work_ns / (0.5 * p);
        double due_ns = 0;
        for (int64_t i = 0; due_ns < static_cast<double>(duration_ns); ++i) {
            due_ns_.push_back(static_cast<int64_t>(due_ns));
            const double uniform = static_cast<double>(random(static_cast<uint64_t>(i)) >> 11) * 0x1p-53;
            due_ns -= std::log1p(-uniform) * apart_ns;
        }
    }

    int64_t count() const { return static_cast<int64_t>(due_ns_.size()); }

    int64_t due_ns(int64_t i) const { return due_ns_[static_cast<size_t>(i)]; }

    // One in a hundred.
    static bool is_long(int64_t i) { return random_below(~i, 100) == 0; }

private:
    std::vector<int64_t> due_ns_;
};

// For N ms requests of 2 us arrive, one in a hundred takes 2 ms, and each is a task. One more task
// never yields. The load is open: a request's time counts from its due time to its end.
template <typename Runtime>
measurement run_hog_tail(const run_arguments& arguments) {
    const piece_of_work short_piece(arrivals::short_ns);
    const arrivals load(arguments.n * 1'000'000, arguments.p);
    std::vector<int64_t> took(static_cast<size_t>(load.count()));
    std::atomic<bool> stop{false};
    int64_t hogged = 0;
    typename Runtime::wait_group hog;
    typename Runtime::wait_group done;
    hog.add(1);
    done.add(load.count());
    Runtime::go([&] {
        for (; !stop.load(); ++hogged) short_piece.run();
        hog.done();
    });
    const int64_t begin = now_ns();
    for (int64_t i = 0; i < load.count(); ++i) {
        const int64_t due = begin + load.due_ns(i);
        const int64_t wait = due - now_ns();
        if (wait > 0) Runtime::sleep_for(wait);
        Runtime::go([&took, &short_piece, &done, i, due] {
            const int64_t pieces = arrivals::is_long(i) ? arrivals::long_ns / arrivals::short_ns : 1;
            for (int64_t piece = 0; piece < pieces; ++piece) short_piece.run();
            took[static_cast<size_t>(i)] = now_ns() - due;
            done.done();
        });
    }
    done.wait();
    const int64_t end = now_ns();
    stop.store(true);
    hog.wait();
    check(hogged > 0, "hog_tail: the hog computed");

    samples short_ones(load.count());
    samples long_ones(load.count());
    for (int64_t i = 0; i < load.count(); ++i) {
        const int64_t ns = took[static_cast<size_t>(i)];
        check(ns > 0, "hog_tail: every request was served, none before it came");
        (arrivals::is_long(i) ? long_ones : short_ones).add(ns);
    }
    measurement result;
    short_ones.report(result, "us", 1e3);
    result.add("long_p50_us", static_cast<double>(long_ones.percentile(0.5)) / 1e3);
    result.add("requests_per_s", static_cast<double>(load.count()) * 1e9 / static_cast<double>(end - begin));
    result.add("hog_share", static_cast<double>(hogged * arrivals::short_ns) / static_cast<double>(end - begin));
    return result;
}

}  // namespace bench
