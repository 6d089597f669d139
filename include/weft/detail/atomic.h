// atomic.h: the atomics that everything lock-free in weft is written with.
//
// One name for two things: std::atomic in the library, the model checker's atomic in a model build
// (WEFT_MODEL), so that test/model compiles the very headers that ship. Orders are always spelt out; the
// words below stand for std::memory_order_*. In a model build they are macros, because the checker wants
// the source position with each order; headers compiled there therefore name no function after an order.
//
// Who: everybody. See: docs/memory_order.md, test/model/.
#pragma once

#include <weft/detail/require.h>

#if defined(WEFT_MODEL)

#include <relacy/relacy.hpp>

// The checker's replacements for what it does not need to know of here.
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno

#define relaxed rl::mo_relaxed, $
#define acquire rl::mo_acquire, $
#define release rl::mo_release, $
#define acq_rel rl::mo_acq_rel, $
#define seq_cst rl::mo_seq_cst, $

namespace weft::detail {

namespace rl = ::rl;  // so that detail::acquire means the same in a model

template <typename T>
using atomic = rl::atomic<T>;
inline constexpr bool model_build = true;

template <typename T>
class guarded;  // see below; test/model/model.h has the definition
template <typename T>
class peekable;  // as above

}  // namespace weft::detail

#define WEFT_FULL_FENCE() rl::atomic_thread_fence(rl::mo_seq_cst, $)

#define WEFT_CONSTEXPR

#else

#include <atomic>
#include <type_traits>

#if defined(__SANITIZE_THREAD__)
#define WEFT_SEES_RACES 1
#elif defined(__has_feature)
#define WEFT_SEES_RACES __has_feature(thread_sanitizer)
#else
#define WEFT_SEES_RACES 0
#endif

namespace weft::detail {
template <typename T>
using atomic = std::atomic<T>;
inline constexpr std::memory_order relaxed = std::memory_order_relaxed;
inline constexpr std::memory_order acquire = std::memory_order_acquire;
inline constexpr std::memory_order release = std::memory_order_release;
inline constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr std::memory_order seq_cst = std::memory_order_seq_cst;
inline constexpr bool model_build = false;

// A shared variable that is not atomic: guarded by a lock, or handed over with something. In a model build the checker knows it
// and reports a race on it, or a use before its construction or after its destruction.
template <typename T>
using guarded = T;

// As guarded, but looked at without the lock too, as a hint: who acts on it takes the lock and looks again. In a model build
// peek() returns anything.
template <typename T>
class peekable {
public:
#if WEFT_SEES_RACES
    // Where one of these was before, on a stack, somebody may have looked at it: a store that the sanitizer does not take for a race.
    constexpr peekable(T value) noexcept {  // NOLINT: as T
        if (std::is_constant_evaluated()) {
            value_ = value;
        } else {
            *this = value;
        }
    }
#else
    constexpr peekable(T value) noexcept : value_(value) {}  // NOLINT: as T
#endif

    // With the lock, which orders them: reading needs no atomic, writing does, because of peek().
    peekable& operator=(T value) noexcept {
        __atomic_store_n(&value_, value, __ATOMIC_RELAXED);  // relaxed: the lock orders it
        return *this;
    }

    operator T() const noexcept { return value_; }  // NOLINT: as T

    T operator->() const noexcept { return value_; }

    peekable& operator++() noexcept { return *this = value_ + 1; }

    peekable& operator--() noexcept { return *this = value_ - 1; }

    // A hint. acquire: several are looked at in the order in which they are written down. See may_recv in chan_state.h
    [[nodiscard]] T peek() const noexcept { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }

private:
    T value_;
};

}  // namespace weft::detail

// Orders everything before it against everything after it, stores against later loads included. The two
// sides of every "publish, then look whether the other one looked" pair carry one each.
#define WEFT_FULL_FENCE() std::atomic_thread_fence(std::memory_order_seq_cst)

// Of the constructor of an object that holds atomics: constexpr, but the model checker's atomics cannot be that.
#define WEFT_CONSTEXPR constexpr

#endif
