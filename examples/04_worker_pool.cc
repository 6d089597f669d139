// 04_worker_pool.cc: three workers take jobs from one channel and send results on another.
//
// - Jobs go through a buffered channel. Its capacity provides back-pressure: send() blocks while
//   the channel is full.
// - All workers receive from the same channel, so a slow job delays only its own worker.
// - Closing the job channel says that there are no more jobs. The range-for loop of a worker ends
//   when the channel is closed and empty. The result channel is closed when the last worker has
//   finished.
// - Values are moved from sender to receiver. A job may be a unique_ptr, a vector or any other type
//   with a noexcept move constructor.
//
// Prints:
//     3 workers found the longest Collatz chain below 200000
//     it starts at 156159 and takes 382 steps
//     jobs done: 200
#include <cstdint>
#include <cstdio>

#include <weft/weft.h>

namespace {

constexpr int workers = 3;
constexpr std::uint64_t limit = 200'000;
constexpr std::uint64_t numbers_per_job = 1'000;

struct job {
    std::uint64_t first;
    std::uint64_t last;  // exclusive
};

struct chain {
    std::uint64_t start = 1;
    int steps = 0;
};

// The number of steps until n is 1. A step replaces n by n / 2 if n is even, by 3n + 1 if n is odd.
int collatz_steps(std::uint64_t n) {
    int steps = 0;
    for (; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
}

// Returns the longer chain. If both are equally long, returns the one with the lower start, so that
// the answer does not depend on the order of the results.
chain longer(const chain& a, const chain& b) {
    if (a.steps != b.steps) return a.steps > b.steps ? a : b;
    return a.start < b.start ? a : b;
}

chain longest_in(const job& j) {
    chain best;
    for (std::uint64_t n = j.first; n < j.last; ++n) best = longer(best, chain{n, collatz_steps(n)});
    return best;
}

}  // namespace

int main() {
    return weft::main([] {
        const weft::chan<job> jobs(8);
        const weft::chan<chain> results(8);

        weft::wait_group pool;
        for (int i = 0; i < workers; ++i) {
            pool.go({.name = "worker"}, [=] {
                for (const job& j : jobs) results.send(longest_in(j));
            });
        }

        weft::go({.name = "feeder"}, [&pool, jobs, results] {
            for (std::uint64_t n = 1; n < limit; n += numbers_per_job) {
                jobs.send(job{n, n + numbers_per_job < limit ? n + numbers_per_job : limit});
            }
            jobs.close();
            pool.wait();
            results.close();
        });

        chain best;
        int jobs_done = 0;
        for (const chain& c : results) {
            best = longer(best, c);
            ++jobs_done;
        }

        std::printf("%d workers found the longest Collatz chain below %d\n", workers, static_cast<int>(limit));
        std::printf("it starts at %d and takes %d steps\n", static_cast<int>(best.start), best.steps);
        std::printf("jobs done: %d\n", jobs_done);
    });
}
