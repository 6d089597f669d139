// worker_pool.cc: many jobs, of which at most four run at a time.
// See: docs/cookbook/worker_pool.md
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <utility>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

class worker_pool {
public:
    worker_pool(int workers, std::size_t queued) : jobs_(queued) {
        for (int i = 0; i < workers; ++i) {
            workers_.go({.name = "worker"}, [jobs = jobs_] {
                for (auto&& job : jobs) job();
            });
        }
    }

    // Queues a job. Waits while the queue is full.
    void run(std::function<void()> job) { jobs_.send(std::move(job)); }

    // Waits for the jobs that are queued. Throws the first exception that has left a job. Must be
    // called once, after the last run().
    void finish() {
        jobs_.close();
        workers_.wait();
    }

private:
    weft::chan<std::function<void()>> jobs_;
    weft::wait_group workers_;
};

}  // namespace

int main() {
    return weft::main([] {
        std::atomic<int> running = 0;
        std::atomic<int> done = 0;
        std::atomic<bool> too_many = false;

        worker_pool pool(4, 8);
        for (int i = 0; i < 100; ++i) {
            pool.run([&] {
                if (++running > 4) too_many = true;
                weft::sleep_for(100us);  // the work
                --running;
                ++done;
            });
        }
        pool.finish();

        std::printf("jobs done: %d\n", done.load());
        std::printf("more than 4 at a time: %s\n", too_many ? "yes" : "no");
    });
}
