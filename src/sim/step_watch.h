// step_watch.h: says which green thread of a simulation has not come to its next step for long.
//
// A simulation has one thread. A green thread that blocks it in a call that weft does not know, such
// as a std::mutex or the join of a std::thread, or that waits in a loop for memory to change, stops
// everything, without a word. So a thread of its own looks whether steps are taken, and writes a
// line to stderr if none was for ten seconds.
//
// Rejected: a verdict. The simulation cannot take the thread away from that green thread.
//
// Threads: the constructor, the destructor, watch: the one that explores; steps: the simulation's M.
// See:     docs/sim.md
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace weft::sim {

class step_watch {
public:
    step_watch();

    ~step_watch();

    step_watch(const step_watch&) = delete;
    step_watch& operator=(const step_watch&) = delete;

    // Green thread g begins a step; 0: the simulation does something else.
    void stepped(uint32_t g) noexcept {
        // Both relaxed: only looked at from time to time.
        running_.store(g, std::memory_order_relaxed);
        steps_.store(steps_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

private:
    void watch();

    std::atomic<uint64_t> steps_{0};
    std::atomic<uint32_t> running_{0};
    std::mutex lock_;
    std::condition_variable over_changes_;
    bool over_ = false;
    const int made_by_;   // a process
    std::thread thread_;  // the last member: it uses the others
};

}  // namespace weft::sim
