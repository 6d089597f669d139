// 40_simulation.cc: finds a bug that only one order of events shows, and repeats it.
//
// A store hands out each job once. take() looks for a job under the lock, and removes it under the
// lock. Two workers that look before either has removed it do the same job twice. On a real machine
// that happens once in a while. In a simulation the order of the green threads is a choice, so it
// is found at once, and always again.
//
// The corrected store removes the job while it looks. It passes 10 000 schedules, in which each job
// takes a minute and the whole test less than a second.
//
// needs: weft::sim
#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include <weft/sim/sim.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

class jobs {
public:
    explicit jobs(bool fixed) : fixed_(fixed) {}

    std::optional<int> take() {
        std::optional<int> found;
        {
            const std::lock_guard held(lock_);
            if (waiting_.empty()) return std::nullopt;
            found = waiting_.front();
            if (fixed_) waiting_.pop_front();
        }
        if (!fixed_) {
            const std::lock_guard held(lock_);
            if (!waiting_.empty()) waiting_.pop_front();
        }
        return found;
    }

private:
    const bool fixed_;
    weft::mutex lock_;
    std::deque<int> waiting_{1, 2};
};

// Two workers do all jobs. Each job must be done once.
void test(bool fixed) {
    jobs all(fixed);
    int done[3] = {};
    weft::wait_group workers;
    for (const char* name : {"anna", "otto"}) {
        workers.go({.name = name}, [&] {
            while (const std::optional<int> job = all.take()) {
                ++done[*job];
                weft::sleep_for(1min);
            }
        });
    }
    workers.wait();
    for (const int job : {1, 2})
        if (done[job] != 1)
            throw std::runtime_error("job " + std::to_string(job) + " was done " + std::to_string(done[job]) +
                                     " times");
}

int main() {
    const weft::sim::report broken = weft::sim::explore({}, [] { test(false); });
    std::printf("%s\n", broken.text().c_str());

    const weft::sim::report again = weft::sim::replay(broken.schedule, {}, [] { test(false); });
    std::printf("repeated: %s\n", again.reason.c_str());

    const weft::sim::report fixed = weft::sim::explore({.schedules = 10'000}, [] { test(true); });
    std::printf("fixed: %s\n", fixed ? "no failure in 10000 schedules" : fixed.text().c_str());
}
