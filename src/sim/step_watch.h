// step_watch.h: says which green thread of a simulation does not come to its next step.
//
// A simulation has one thread. A green thread may block it in a call that weft does not know, such
// as a std::mutex or the join of a std::thread, or may wait in a loop for memory to change. Then
// everything stops without a word. So a thread of its own looks whether steps are taken, and writes
// a line to stderr if none was for ten seconds, or up to twice as long.
//
// Rejected: a verdict. The simulation cannot take the thread away from that green thread.
//
// Threads: stepped: the simulation's M; the rest: the one that explores.
// See:     docs/sim.md
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace weft::sim {

class step_watch {
public:
    explicit step_watch(std::chrono::milliseconds longest_step = std::chrono::seconds(10));

    ~step_watch();

    step_watch(const step_watch&) = delete;
    step_watch& operator=(const step_watch&) = delete;

    // Green thread g begins a step; 0: the simulation does something else.
    void stepped(uint32_t g) noexcept {
        running_.store(g, std::memory_order_relaxed);                    // relaxed: looked at from time to time
        const uint64_t before = steps_.load(std::memory_order_relaxed);  // relaxed: only we write it
        steps_.store(before + 1, std::memory_order_relaxed);             // relaxed: as above
    }

private:
    void watch();

    std::atomic<uint64_t> steps_{0};
    std::atomic<uint32_t> running_{0};
    std::mutex lock_;
    std::condition_variable over_changes_;
    bool over_ = false;
    const std::chrono::milliseconds longest_step_;
    const int made_by_;   // a process
    std::thread thread_;  // the last member: it uses the others
};

}  // namespace weft::sim
