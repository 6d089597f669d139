// 04_worker_pool.cc: many jobs, a few workers, one place where the results meet.
//
// What one learns: the shape of most concurrent programs. Jobs go through a buffered channel; its capacity is the
// back-pressure, since send() blocks while it is full. Every worker takes from the same channel, so a slow job holds
// up one worker and no other job. Closing the job channel is the message "there will be no more": the workers'
// range-for loops end when it is closed and empty, and the results' channel is closed when the last worker has left.
//
// Values are moved from sender to receiver: a job may be a unique_ptr, a vector, anything nothrow-movable.
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
    std::uint64_t last;  // not included
};

struct chain {
    std::uint64_t start = 1;
    int steps = 0;
};

// n → n / 2 if n is even, 3n + 1 if it is odd, until 1.
int collatz_steps(std::uint64_t n) {
    int steps = 0;
    for (; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
}

// The longer chain; of two equal ones the one that starts lower, so that the answer does not depend on who was first.
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
