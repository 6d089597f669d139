// priority_queue.cc: workers take the most urgent job, not the oldest one.
// See: docs/cookbook/priority_queue.md
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include <weft/weft.h>

namespace {

struct job {
    int urgency;
    std::string name;
};

class job_queue {
public:
    void push(job j) {
        {
            const std::lock_guard hold(lock_);
            jobs_.push({std::move(j), --order_});
        }
        changed_.notify_one();
    }

    // Waits for a job and returns the most urgent one; of equal ones the oldest. nullopt: closed
    // and empty. A cancellation point.
    std::optional<job> pop() {
        std::unique_lock hold(lock_);
        changed_.wait(hold, [&] { return !jobs_.empty() || closed_; });
        if (jobs_.empty()) return std::nullopt;
        job next = jobs_.top().what;
        jobs_.pop();
        return next;
    }

    void close() {
        {
            const std::lock_guard hold(lock_);
            closed_ = true;
        }
        changed_.notify_all();
    }

private:
    struct entry {
        job what;
        std::int64_t order;  // the older, the larger

        bool operator<(const entry& b) const {
            return what.urgency != b.what.urgency ? what.urgency < b.what.urgency : order < b.order;
        }
    };

    weft::mutex lock_;
    weft::condition_variable changed_;
    // Guarded by lock_.
    std::priority_queue<entry> jobs_;
    std::int64_t order_ = 0;
    bool closed_ = false;
};

}  // namespace

int main() {
    return weft::main([] {
        job_queue jobs;
        jobs.push({1, "send the newsletter"});
        jobs.push({5, "take the payment"});
        jobs.push({1, "write the report"});
        jobs.push({9, "raise the alarm"});
        weft::wait_group workers;
        workers.go([&] {
            while (std::optional<job> j = jobs.pop()) std::printf("%d: %s\n", j->urgency, j->name.c_str());
        });
        jobs.close();
        workers.wait();
    });
}
