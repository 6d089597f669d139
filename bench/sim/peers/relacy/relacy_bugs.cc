// relacy_bugs.cc: the five bugs of ../../bugs.h in Relacy, whose random scheduler has no seed.
#include <chrono>
#include <cstdio>
#include <sstream>

#include <relacy/relacy.hpp>

struct lost_update : rl::test_suite<lost_update, 2> {
    rl::mutex m;
    int x = 0;

    void thread(unsigned /*index*/) {
        m.lock($);
        const int seen = x;
        m.unlock($);
        m.lock($);
        x = seen + 1;
        m.unlock($);
    }

    void after() { RL_ASSERT(x == 2); }
};

struct inverted_locks : rl::test_suite<inverted_locks, 2> {
    rl::mutex a;
    rl::mutex b;

    void thread(unsigned index) {
        rl::mutex& first = index == 0 ? a : b;
        rl::mutex& second = index == 0 ? b : a;
        first.lock($);
        second.lock($);
        second.unlock($);
        first.unlock($);
    }
};

struct lost_wakeup : rl::test_suite<lost_wakeup, 2> {
    rl::mutex m;
    rl::condition_variable changed;
    bool done = false;

    void thread(unsigned index) {
        if (index == 0) {
            m.lock($);
            const bool seen = done;
            m.unlock($);
            if (seen) return;
            m.lock($);
            changed.wait(m, $);
            m.unlock($);
        } else {
            m.lock($);
            done = true;
            changed.notify_all($);
            m.unlock($);
        }
    }
};

struct notified_the_wrong_one : rl::test_suite<notified_the_wrong_one, 4> {
    rl::mutex m;
    rl::condition_variable changed;
    int items = 0;

    void thread(unsigned index) {
        const int full = index % 2 == 0 ? 1 : 0;
        for (int n = 0; n < 2; ++n) {
            m.lock($);
            while (items == full) changed.wait(m, $);
            items = 1 - items;
            changed.notify_one($);
            m.unlock($);
        }
    }
};

struct barrier_without_phases : rl::test_suite<barrier_without_phases, 2> {
    rl::mutex m;
    rl::condition_variable all_here;
    int arrived = 0;

    void thread(unsigned /*index*/) {
        meet();
        meet();
    }

    void meet() {
        m.lock($);
        if (++arrived == 2) {
            arrived = 0;
            all_here.notify_all($);
        } else {
            while (arrived != 0) all_here.wait(m, $);
        }
        m.unlock($);
    }
};

template <typename Bug>
void run(const char* name) {
    std::ostringstream ignored;
    rl::test_params with;
    with.iteration_count = 1'000'000;
    with.output_stream = &ignored;
    with.progress_stream = &ignored;
    const auto began = std::chrono::steady_clock::now();
    const bool passed = rl::simulate<Bug>(with);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    if (passed) {
        std::printf("%s not_found\n", name);
    } else {
        std::printf("%s %llu %.3f\n", name, static_cast<unsigned long long>(with.stop_iteration) + 1, took.count());
    }
}

int main() {
    run<lost_update>("lost_update");
    run<inverted_locks>("inverted_locks");
    run<lost_wakeup>("lost_wakeup");
    run<notified_the_wrong_one>("notified_the_wrong_one");
    run<barrier_without_phases>("barrier_without_phases");
}
