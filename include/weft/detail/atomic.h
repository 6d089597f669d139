// atomic.h: the atomic types and memory orders of all lock-free code in weft.
//
// In the library these are std::atomic's, in a model build (WEFT_MODEL) the model checker's, so
// that test/model compiles the headers that ship. Memory orders are always explicit; the words
// below stand for std::memory_order_*. In a model build they are macros, because the checker wants
// each order's source position. So headers compiled there must not name a function after an order.
//
// See: docs/memory_order.md, test/model/.
#pragma once

#include <weft/detail/require.h>

#if defined(WEFT_MODEL)

#include <relacy/relacy.hpp>

// Removes the checker's replacements that are not needed here.
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno

#define relaxed rl::mo_relaxed, $
#define relaxed_locked rl::mo_relaxed, $
#define relaxed_own rl::mo_relaxed, $
#define relaxed_alone rl::mo_relaxed, $
#define relaxed_cas rl::mo_relaxed, $
#define relaxed_hint rl::mo_relaxed, $
#define relaxed_count rl::mo_relaxed, $
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

// Relaxed, for the reason in the name. Another reason is a comment beside `relaxed`.
inline constexpr std::memory_order relaxed_locked = relaxed;  // the caller holds the lock under which it is written
inline constexpr std::memory_order relaxed_own = relaxed;     // only the calling thread writes it
inline constexpr std::memory_order relaxed_alone = relaxed;   // no other thread can access it yet, or any longer
inline constexpr std::memory_order relaxed_cas = relaxed;     // a first guess: the compare-exchange decides
inline constexpr std::memory_order relaxed_hint = relaxed;    // it may be old; whatever acts on it checks again
inline constexpr std::memory_order relaxed_count = relaxed;   // only counted, or shown in a report

inline constexpr std::memory_order acquire = std::memory_order_acquire;
inline constexpr std::memory_order release = std::memory_order_release;
inline constexpr std::memory_order acq_rel = std::memory_order_acq_rel;
inline constexpr std::memory_order seq_cst = std::memory_order_seq_cst;
inline constexpr bool model_build = false;

// A non-atomic shared variable, guarded by a lock or handed over by a synchronised operation. In a
// model build the checker reports races on it, and use before construction or after destruction.
template <typename T>
using guarded = T;

// As guarded, but may also be read without the lock, as a hint: before acting on it, take the lock
// and read again. In a model build peek() returns an arbitrary value.
template <typename T>
class peekable {
public:
#if WEFT_SEES_RACES
    // This address on a stack may have held another peekable, which a thread still peeks at. An
    // atomic store keeps the sanitizer from reporting a race.
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

    // Requires the lock, which orders the accesses. Reads need no atomic; writes do, because of
    // peek().
    peekable& operator=(T value) noexcept {
        __atomic_store_n(&value_, value, __ATOMIC_RELAXED);  // relaxed: the lock orders it
        return *this;
    }

    operator T() const noexcept { return value_; }  // NOLINT: as T

    T operator->() const noexcept { return value_; }

    peekable& operator++() noexcept { return *this = value_ + 1; }

    peekable& operator--() noexcept { return *this = value_ - 1; }

    // A hint. acquire: several peeks take effect in program order. See may_recv in chan_state.h.
    [[nodiscard]] T peek() const noexcept { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }

private:
    T value_;
};

}  // namespace weft::detail

// Orders everything before it against everything after it, including stores against later loads.
// Each side of a "publish, then check whether the other side has checked" pair needs one.
#define WEFT_FULL_FENCE() std::atomic_thread_fence(std::memory_order_seq_cst)

// For constructors of objects that hold atomics: constexpr, except with the model checker's
// atomics.
#define WEFT_CONSTEXPR constexpr

#endif
