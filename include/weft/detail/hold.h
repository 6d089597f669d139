// hold.h: where a green thread may not be preempted although it is in a user's code: between taking and freeing a lock of the runtime.
//
// The problem. Channels move values under their lock, in templates: so a user's move constructor, or with unlucky inlining a function of
// this library compiled in an instrumented file, calls the preemption hook while the lock is held. Were the green thread stopped
// there, others would spin for the lock, with the processor that its holder waits for.
//
// So such an operation puts a hold into its frame and leaves its address where the hook finds it. The address is believed if it lies above
// the hook in the stack of the caller, and if what is there says that it is alive: an operation that parks leaves its hold behind on the
// thread it was on, and there it means nothing to others.
//
// It costs a few instructions, so only those have it that can meet a hook: in instrumented files, in files that are not optimized, and
// for values that are not moved as bytes. A file without any of these may be linked with one that has: what is then chosen of
// two copies of an operation either has the hold or has no hooks in it.
//
// Rejected. Counting the locks held in each lock and unlock: instructions for everybody, and a park hands a lock to another thread.
//
// Who: any thread.
#pragma once

#include <cstdint>
#include <type_traits>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>

namespace weft::detail {

#if !defined(WEFT_MODEL)

// Whether there is code that calls the hook: set before the first of it runs.
extern atomic<bool> has_hooks;

class hold {
public:
    hold() noexcept {
        if (has_hooks.load(relaxed)) [[unlikely]]  // relaxed: only our own calls matter
            begin();
    }

    ~hold() {
        if (check_ != 0) [[unlikely]]
            end();
    }

    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;

    // Whether the function with that stack pointer is called by an operation that has one; its stack ends at high, and last is what
    // current_hold() of its M says.
    [[nodiscard]] static bool covers(const hold* last, const void* sp, const void* high) noexcept;

private:
    static constexpr uintptr_t alive = 0x7765'6674U;

    void begin() noexcept;
    void end() noexcept;

    uintptr_t check_ = 0;  // alive ^ address
    hold* outer_ = nullptr;
};

#else
struct hold {
    hold() noexcept {}
};
#endif

struct no_hold {
    no_hold() noexcept {}  // not trivial, so that nobody warns of a variable that is not used
};

#if defined(WEFT_INSTRUMENTED) || !defined(__OPTIMIZE__)
template <bool>
using hold_if = hold;
#else
template <bool CallsUsers>
using hold_if = std::conditional_t<CallsUsers, hold, no_hold>;
#endif

}  // namespace weft::detail
