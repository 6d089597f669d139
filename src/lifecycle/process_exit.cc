// process_exit.cc: see process_exit.h.
#include "lifecycle/process_exit.h"

#include <cstddef>
#include <cstdlib>

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

// More than allocators cache by size: once freed, it can serve any smaller request.
constexpr std::size_t enough = 4096;

// True if the C library can register a destructor; without memory, it aborts.
bool can_note_destructor() noexcept {
    auto* memory = static_cast<volatile char*>(std::malloc(enough));  // NOLINT: as the C library
    if (memory == nullptr) return false;
    *memory = 0;                           // volatile: else the compiler removes all this
    std::free(const_cast<char*>(memory));  // NOLINT: as above
    return true;
}

}  // namespace

void watch_for_exit() noexcept {
    if (can_note_destructor()) of_this_thread.there = true;
}

bool exit_has_begun() noexcept { return begun.load(acquire); }  // pairs with ~witness

}  // namespace weft::detail
