// hold.h: prevents preemption inside user code while a lock of the runtime is held.
//
// Problem. Channels move values under their lock, in templates. So a user's move constructor may
// call the preemption hook with the lock held; with unlucky inlining, so may a library function
// compiled in an instrumented file. If the green thread were stopped there, other threads would
// spin for the lock, on the processor that its holder waits for.
//
// So such an operation puts a hold into its frame and leaves its address where the hook finds it.
// The hook trusts the address if it lies above the hook in the caller's stack and the object there
// is marked alive. An operation that parks leaves its hold behind on its former thread, without
// effect on other green threads.
//
// A hold costs a few instructions. So only operations that can meet a hook have one: in
// instrumented or unoptimised files, and for values that are not moved as bytes. Files with and
// without these may be linked together. Whichever copy of an operation the linker picks either has
// the hold or contains no hooks.
//
// Rejected: Counting held locks in each lock and unlock. All operations would pay, and a park hands
//           a lock to another thread.
//
// Threads: any thread.
#pragma once

#include <cstdint>
#include <type_traits>

#include <weft/detail/atomic.h>
#include <weft/detail/require.h>

namespace weft::detail {

#if !defined(WEFT_MODEL)

// Whether the process has code that calls the hook. Set before that code first runs.
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

    // Whether the function with stack pointer sp is called by an operation that has a hold. high:
    // the end of its stack. last: current_hold() of its M.
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
    no_hold() noexcept {}  // not trivial, to avoid warnings about unused variables
};

#if defined(WEFT_INSTRUMENTED) || !defined(__OPTIMIZE__)
template <bool>
using hold_if = hold;
#else
template <bool CallsUsers>
using hold_if = std::conditional_t<CallsUsers, hold, no_hold>;
#endif

}  // namespace weft::detail
