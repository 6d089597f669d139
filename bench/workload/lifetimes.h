// lifetimes.h: a crowd of short-lived tasks: whether starting stays fast, and memory stable.
#pragma once

#include <atomic>
#include <vector>

#include "measurement.h"
#include "samples.h"

namespace bench {

// K tasks are alive at any time. Each sleeps between 1 us and 1 s, at random, starts its successor
// and ends. N of them are counted after 3 K that warm up, so the run takes about N / 2 K seconds.
template <typename Runtime>
class lifetimes {
public:
    lifetimes(int64_t alive, int64_t counted)
        : alive_(alive),
          warm_(3 * alive),
          total_(warm_ + counted),
          spawn_ns_(static_cast<size_t>(total_)),
          begin_ns_(static_cast<size_t>(total_)) {}

    measurement run() {
        warmed_up_.add(1);
        all_started_.add(1);
        done_.add(alive_);
        started_.store(alive_);
        for (int64_t i = 0; i < alive_; ++i) start(i);

        warmed_up_.wait();
        const int64_t first = started_.load();
        const memory before = read_memory();
        const int64_t cpu_before = cpu_ns();
        const int64_t begin = now_ns();
        all_started_.wait();
        const int64_t elapsed = now_ns() - begin;
        const int64_t cpu = cpu_ns() - cpu_before;
        const memory after = read_memory();
        done_.wait();
        check(ended_.load() == total_, "lifetimes: every task that started ended");
        check(first < total_ && elapsed > 0, "lifetimes: the watcher came in time");

        measurement result;
        const int64_t counted = total_ - first;
        result.add_per_op("ns_per_op", cpu, counted);
        result.add("lives_per_s", static_cast<double>(counted) * 1e9 / static_cast<double>(elapsed));
        report(result, spawn_ns_, "spawn_p50_ns", "spawn_p999_ns");
        report(result, begin_ns_, "start_p50_ns", "start_p999_ns");
        const auto resident = static_cast<double>(before.resident_bytes);
        result.add("drift_percent", (static_cast<double>(after.resident_bytes) - resident) / resident * 100);
        result.add("resident_mib", static_cast<double>(after.resident_bytes) / (1 << 20));
        return result;
    }

private:
    void start(int64_t i) {
        const int64_t begin = now_ns();
        Runtime::go([this, i, begin] { live(i, begin); });
        spawn_ns_[static_cast<size_t>(i)] = now_ns() - begin;
    }

    void live(int64_t i, int64_t spawned) {
        const int64_t born = now_ns();
        begin_ns_[static_cast<size_t>(i)] = born - spawned;
        const int64_t life_ns = 1000 + random_below(i, 1'000'000'000 - 1000);
        Runtime::sleep_for(life_ns);
        check(now_ns() - born >= life_ns, "lifetimes: no task ends early");
        ended_.fetch_add(1);
        const int64_t next = started_.fetch_add(1);
        if (next < total_) start(next);
        if (next == warm_) warmed_up_.done();
        if (next == total_) all_started_.done();
        if (next >= total_) done_.done();
    }

    void report(measurement& result, const std::vector<int64_t>& of_all, const char* p50, const char* p999) const {
        samples counted(std::vector<int64_t>(of_all.begin() + warm_, of_all.end()));
        result.add(p50, static_cast<double>(counted.percentile(0.5)));
        result.add(p999, static_cast<double>(counted.percentile(0.999)));
    }

    const int64_t alive_;
    const int64_t warm_;
    const int64_t total_;
    std::vector<int64_t> spawn_ns_;  // time to start it; touched from the start, because memory is watched
    std::vector<int64_t> begin_ns_;  // from then until it ran
    std::atomic<int64_t> started_{0};
    std::atomic<int64_t> ended_{0};
    typename Runtime::wait_group warmed_up_;
    typename Runtime::wait_group all_started_;
    typename Runtime::wait_group done_;
};

template <typename Runtime>
measurement run_lifetimes(const run_arguments& arguments) {
    return lifetimes<Runtime>(arguments.k, arguments.n).run();
}

}  // namespace bench
