// process_exit.cc: see process_exit.h.
#include "sched/process_exit.h"

#include "base/atomic.h"
#include "sched/current.h"

namespace weft::detail {

namespace {

constinit atomic<bool> begun{false};

struct witness {
    bool there = false;

    ~witness() {
        if (there && current_m() != nullptr) begun.store(true, release);  // pairs with exit_has_begun
    }
};

constinit thread_local witness of_this_thread;

}  // namespace

void watch_for_exit() noexcept { of_this_thread.there = true; }

bool exit_has_begun() noexcept { return begun.load(acquire); }  // pairs with ~witness

}  // namespace weft::detail
