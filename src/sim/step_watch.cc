// step_watch.cc: see step_watch.h.
#include "sim/step_watch.h"

#include <unistd.h>

#include <cstdio>

namespace weft::sim {

step_watch::step_watch(std::chrono::milliseconds longest_step)
    : longest_step_(longest_step), made_by_(::getpid()), thread_([this] { watch(); }) {}

step_watch::~step_watch() {
    if (made_by_ != ::getpid()) {  // in the child of a fork it does not exist
        thread_.detach();
        return;
    }
    {
        const std::lock_guard held(lock_);
        over_ = true;
    }
    over_changes_.notify_one();
    thread_.join();
}

void step_watch::watch() {
    std::unique_lock held(lock_);
    uint64_t seen = 0;
    uint64_t said = 0;  // steps_ when it was said, so that it is not said again
    while (!over_changes_.wait_for(held, longest_step_, [this] { return over_; })) {
        const uint64_t now = steps_.load(std::memory_order_relaxed);  // relaxed: as in stepped
        const uint32_t g = running_.load(std::memory_order_relaxed);  // relaxed: as above
        if (now == seen && now != said && g != 0) {
            std::fprintf(
                stderr,
                "weft::sim: green thread %u has not come to its next step for %lld ms. It computes, waits in a loop "
                "for memory to change, or waits in a call that weft does not know (std::mutex, "
                "std::thread::join). In a simulation nothing else can run meanwhile; use weft's types\n",
                static_cast<unsigned>(g), static_cast<long long>(longest_step_.count()));
            said = now;
        }
        seen = now;
    }
}

}  // namespace weft::sim
