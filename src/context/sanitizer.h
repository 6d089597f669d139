// sanitizer.h: tells AddressSanitizer, ThreadSanitizer and Valgrind about stacks.
//
// Call leave_stack() last before a switch, arrive_on_stack() first after it, on the new stack. For
// the rules see docs/sanitizers.md.
//
// Threads: the owner of the stack.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WEFT_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(WEFT_ASAN)
#define WEFT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__) && !defined(WEFT_TSAN)
#define WEFT_TSAN 1
#endif

#if defined(WEFT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(WEFT_TSAN)
#include <sanitizer/tsan_interface.h>

#include <csignal>
#include <cstdio>

extern "C" {
// Of TSan; no header declares them. The first pair also covers writes.
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreSyncBegin(const char* file, int line);
void AnnotateIgnoreSyncEnd(const char* file, int line);
void AnnotateBenignRaceSized(const char* file, int line, const volatile void* at, long size, const char* what);
}
#endif
#if __has_include(<valgrind/valgrind.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <valgrind/valgrind.h>
#pragma GCC diagnostic pop
#define WEFT_VALGRIND 1
#endif

// For functions that lead to a switch.
#if defined(__clang__)
#define WEFT_NO_SANITIZE __attribute__((no_sanitize("thread", "address"), disable_sanitizer_instrumentation))
#elif defined(WEFT_ASAN) || defined(WEFT_TSAN)
#define WEFT_NO_SANITIZE __attribute__((no_sanitize("thread"), no_sanitize("address")))
#else
#define WEFT_NO_SANITIZE
#endif

namespace weft::detail {

#if defined(WEFT_ASAN) || defined(WEFT_TSAN)
// Each G has its own fiber, so no stack passes to another G without a switch.
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

#if defined(WEFT_TSAN)
// A fiber keeps the signals that arrive while it is current, made or destroyed, but its green
// thread may park to wait for one. So pending signals are delivered first, and later ones blocked
// until the change is over. Ms that block signals skip this.
class tsan_change {
public:
    [[gnu::noinline]] WEFT_NO_SANITIZE tsan_change() {
        static thread_local enum { unknown, deaf, hears } ears = unknown;

        if (ears == unknown) {
            pthread_sigmask(SIG_BLOCK, nullptr, &before_);
            ears = sigismember(&before_, SIGTERM) == 1 ? deaf : hears;
        }
        hears_ = ears == hears;
        if (!hears_) return;
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before_);
    }

    [[gnu::noinline]] WEFT_NO_SANITIZE ~tsan_change() {
        if (hears_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

    tsan_change(const tsan_change&) = delete;
    tsan_change& operator=(const tsan_change&) = delete;

private:
    sigset_t before_;
    bool hears_ = false;
};

// TSan checks the runtime itself, and takes each switch for an edge. Otherwise green threads:
// RUN_DEBUG=tsan=green_threads.
inline bool tsan_checks_internals = true;

// Before the first runtime has threads.
inline void check_green_threads_in_tsan() noexcept {
    if (tsan_checks_internals) tsan_checks_internals = false;
}

// How often the calling thread has begun internals. The same on both sides of a switch.
[[gnu::noinline]] WEFT_NO_SANITIZE inline int& internals_depth() {
    static thread_local int depth = 0;
    return depth;
}

WEFT_NO_SANITIZE inline void ignore_in_tsan() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
}

WEFT_NO_SANITIZE inline void heed_in_tsan() {
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

[[gnu::noinline]] WEFT_NO_SANITIZE inline void switch_tsan_fiber(void* to) {
    const tsan_change change;
    __tsan_switch_to_fiber(to, tsan_checks_internals ? 0 : __tsan_switch_to_fiber_no_sync);
}

// While one exists, synchronization counts although the thread is in internals.
class tsan_edge {
public:
    [[gnu::noinline]] WEFT_NO_SANITIZE tsan_edge() noexcept {
        for (int i = internals_depth(); i > 0; --i) AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    }

    [[gnu::noinline]] WEFT_NO_SANITIZE ~tsan_edge() {
        for (int i = internals_depth(); i > 0; --i) AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    }

    tsan_edge(const tsan_edge&) = delete;
    tsan_edge& operator=(const tsan_edge&) = delete;
};
#else
struct tsan_edge {
    tsan_edge() noexcept {}  // NOLINT: not trivial, so that an unused one is no warning
};

inline void check_green_threads_in_tsan() noexcept {}
#endif

// Between these two, TSan ignores what the calling thread does: docs/sanitizers.md. They nest. A
// switch is made in between, at depth 1 on both sides.
#if defined(WEFT_TSAN)
[[gnu::noinline]] WEFT_NO_SANITIZE inline void begin_internals() noexcept {
    if (tsan_checks_internals) return;
    ++internals_depth();
    ignore_in_tsan();
}

[[gnu::noinline]] WEFT_NO_SANITIZE inline void end_internals() noexcept {
    if (tsan_checks_internals) return;
    heed_in_tsan();
    --internals_depth();
}
#else
inline void begin_internals() noexcept {}

inline void end_internals() noexcept {}
#endif

struct internals {
    internals() noexcept { begin_internals(); }

    ~internals() { end_internals(); }

    internals(const internals&) = delete;
    internals& operator=(const internals&) = delete;
};

// Reports an acquire load of word by code that TSan does not see.
[[gnu::always_inline]] WEFT_NO_SANITIZE inline void tell_acquired([[maybe_unused]] const void* word) {
#if defined(WEFT_TSAN)
    const tsan_edge edge;
    __tsan_acquire(const_cast<void*>(word));
#endif
}

// The same for a release, which adds to earlier ones.
[[gnu::always_inline]] WEFT_NO_SANITIZE inline void tell_released([[maybe_unused]] const void* word) {
#if defined(WEFT_TSAN)
    const tsan_edge edge;
    __tsan_release(const_cast<void*>(word));
#endif
}

// Memory of the runtime that one green thread uses after another, ordered by switches, which TSan
// does not take for an order.
inline void is_internal([[maybe_unused]] const void* at, [[maybe_unused]] std::size_t size) noexcept {
#if defined(WEFT_TSAN)
    AnnotateBenignRaceSized(__FILE__, __LINE__, at, static_cast<long>(size), "memory of the runtime");
#endif
}

// Non-heap memory that may hold the only pointer to heap memory.
inline void may_hold_pointers([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t size) {
#if defined(WEFT_ASAN)
    __lsan_register_root_region(begin, size);
#endif
}

inline void holds_no_pointers([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t size) {
#if defined(WEFT_ASAN)
    __lsan_unregister_root_region(begin, size);
#endif
}

struct fiber {
#if defined(WEFT_ASAN)
    void* fake_stack = nullptr;
    const void* low = nullptr;
    std::size_t size = 0;
#endif
#if defined(WEFT_TSAN)
    void* tsan = nullptr;
#endif
#if defined(WEFT_VALGRIND)
    unsigned valgrind_id = 0;
#endif

    // Once, when a G's stack is first bound.
    void create([[maybe_unused]] const void* stack_low, [[maybe_unused]] std::size_t stack_size) {
#if defined(WEFT_ASAN)
        low = stack_low;
        size = stack_size;
        __lsan_register_root_region(stack_low, stack_size);
#endif
#if defined(WEFT_VALGRIND)
        if (RUNNING_ON_VALGRIND) {  // NOLINT
            [[maybe_unused]] const char* bottom = static_cast<const char*>(stack_low);
            valgrind_id = VALGRIND_STACK_REGISTER(bottom, bottom + stack_size);  // NOLINT
        }
#endif
    }

    // Before the memory is unmapped.
    void destroy() {
#if defined(WEFT_ASAN)
        if (low != nullptr) {
            __lsan_unregister_root_region(low, size);
            __asan_unpoison_memory_region(low, size);
        }
#endif
#if defined(WEFT_VALGRIND)
        if (valgrind_id != 0) VALGRIND_STACK_DEREGISTER(valgrind_id);  // NOLINT
#endif
    }

    // begin_g: a G starts on the stack. end_g: it has left (call from another stack).
    void begin_g() {
#if defined(WEFT_ASAN)
        __asan_unpoison_memory_region(low, size);
        fake_stack = nullptr;
#endif
#if defined(WEFT_TSAN)
        begin_tsan_fiber();
#endif
    }

    void end_g() {
#if defined(WEFT_TSAN)
        if (tsan != nullptr) end_tsan_fiber();
#endif
    }

    // The G that runs on the stack, in reports of TSan.
    void name_g([[maybe_unused]] unsigned long long id, [[maybe_unused]] const char* name) const {
#if defined(WEFT_TSAN)
        char text[64];
        std::snprintf(text, sizeof(text), *name == '\0' ? "green thread %llu" : "green thread %llu \"%s\"", id, name);
        __tsan_set_fiber_name(tsan, text);
#endif
    }

    // Around a call from g's stack that runs on this one. TSan's fiber is the G's on any stack.
    void begin_part_of([[maybe_unused]] fiber& g) {
#if defined(WEFT_ASAN)
        __asan_unpoison_memory_region(low, size);
        fake_stack = nullptr;
#endif
#if defined(WEFT_TSAN)
        tell_acquired(this);
        tsan = g.tsan;
        g.tsan = nullptr;
#endif
    }

    void end_part_of([[maybe_unused]] fiber& g) {
#if defined(WEFT_TSAN)
        tell_released(this);
        g.tsan = tsan;
        tsan = nullptr;
#endif
    }

    // For the calling thread's own stack.
    void adopt_thread([[maybe_unused]] const void* stack_low, [[maybe_unused]] std::size_t stack_size) {
#if defined(WEFT_ASAN)
        low = stack_low;
        size = stack_size;
#endif
#if defined(WEFT_TSAN)
        tsan = __tsan_get_current_fiber();
#endif
    }

#if defined(WEFT_TSAN)
private:
    // A new fiber inherits nothing from its maker, which is any G: it acquires what the G before on
    // this stack has done there. It begins in internals, as its first code does.
    [[gnu::noinline]] WEFT_NO_SANITIZE void begin_tsan_fiber() {
        const tsan_change change;
        void* self = __tsan_get_current_fiber();
        if (tsan_checks_internals) {
            tsan = __tsan_create_fiber(0);
            return;
        }
        ignore_in_tsan();
        tsan = __tsan_create_fiber(0);
        heed_in_tsan();
        __tsan_switch_to_fiber(tsan, __tsan_switch_to_fiber_no_sync);
        __tsan_acquire(this);
        ignore_in_tsan();
        __tsan_switch_to_fiber(self, __tsan_switch_to_fiber_no_sync);
    }

    [[gnu::noinline]] WEFT_NO_SANITIZE void end_tsan_fiber() {
        const tsan_change change;
        if (!tsan_checks_internals) {
            void* self = __tsan_get_current_fiber();
            __tsan_switch_to_fiber(tsan, __tsan_switch_to_fiber_no_sync);
            heed_in_tsan();
            __tsan_release(this);
            __tsan_switch_to_fiber(self, __tsan_switch_to_fiber_no_sync);
        }
        __tsan_destroy_fiber(tsan);
        tsan = nullptr;
    }
#endif
};

// Directly before a switch.
[[gnu::always_inline]] WEFT_NO_SANITIZE inline void leave_stack([[maybe_unused]] fiber& from,
                                                                [[maybe_unused]] fiber& to,
                                                                [[maybe_unused]] bool dying) {
#if defined(WEFT_ASAN)
    __sanitizer_start_switch_fiber(dying ? nullptr : &from.fake_stack, to.low, to.size);
#endif
#if defined(WEFT_TSAN)
    switch_tsan_fiber(to.tsan);
#endif
}

// Called directly before a call on another stack; return_to_stack directly after it.
[[gnu::always_inline]] WEFT_NO_SANITIZE inline void leave_stack_for_call([[maybe_unused]] fiber& from,
                                                                         [[maybe_unused]] fiber& to) {
#if defined(WEFT_ASAN)
    __sanitizer_start_switch_fiber(&from.fake_stack, to.low, to.size);
#endif
}

[[gnu::always_inline]] WEFT_NO_SANITIZE inline void return_to_stack([[maybe_unused]] fiber& self) {
#if defined(WEFT_ASAN)
    __sanitizer_start_switch_fiber(nullptr, self.low, self.size);
    __sanitizer_finish_switch_fiber(self.fake_stack, nullptr, nullptr);
#endif
}

// Directly after a switch, on the new stack.
[[gnu::always_inline]] WEFT_NO_SANITIZE inline void arrive_on_stack([[maybe_unused]] fiber& self) {
#if defined(WEFT_ASAN)
    __sanitizer_finish_switch_fiber(self.fake_stack, nullptr, nullptr);
#endif
}

}  // namespace weft::detail
