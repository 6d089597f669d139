// blocking.h: calls that block the OS thread, announced so that they delay no other green thread.
//
// blocking(f) calls f on the OS thread's own stack, of the usual thread size. If f takes long, the
// P is handed off: at once if earlier calls from this place were long, otherwise when the monitor
// sees that other Gs wait. After f the green thread waits for a P if it has lost its own.
//
//     std::string text = weft::blocking([&] { return read_whole(path); });
//
// An unannounced blocking call does not stop others either, but delays them longer: the monitor
// must first detect it. See docs/blocking.md.
//
// In f the caller counts as a plain thread. Mutexes, channels and the like block the OS thread,
// this_g::id() is 0, and go() starts green threads of the same runtime. errno is as f has left it.
// Scopes and deadlines around the caller apply. weft::yield() and weft::local are fatal. blocking()
// in f, or in a plain thread, is a plain call.
//
// A blocking_pool limits how many calls run at once, for resources such as a database or a disk.
// Callers beyond the limit wait as green threads.
//
// Threads: any thread.
// See: docs/blocking.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <weft/detail/atomic.h>
#include <weft/detail/call_at.h>
#include <weft/detail/require.h>
#include <weft/semaphore.h>

namespace weft {

/// When the P is handed off.
enum class hand_off : uint8_t {
    learned,  ///< at once if calls from this place have taken long, else late
    at_once,  ///< before the call, if a G waits for it
    late,     ///< when the call has taken long and a G waits
};

namespace detail {

// What is known about calls from one place in the program.
class call_site {
public:
    // Recent duration of calls, in nanoseconds; 0: unknown.
    atomic<uint32_t> typical_ns{0};
};

struct M;
class cancel_context;

// A call in progress. m: nullptr if the caller is not a green thread.
struct open_call {
    M* m;
    int64_t began_ns;                // 0: not timed
    cancel_context* context_before;  // if the caller is in one that may be cancelled
    // Top of the stack for the call's frames, if its initiator may use call_at; otherwise nullptr.
    void* top;
};

// The steps of blocking() for function(argument), which must not throw, all called directly from
// it. After a system call, a return from an older frame may cost as much as all the rest
// (call_at.h); call_at avoids it.
void begin_blocking(open_call& call, const call_site& site, hand_off when);
void make_blocking(const open_call& call, void (*function)(void*) noexcept, void* argument);
void end_blocking(const open_call& call, call_site& site) noexcept;

// The work between begin_blocking and end_blocking: made() of Call, which derives from this class
// and does not throw.
template <typename Call>
class declared_call : private way_back {
public:
    [[gnu::always_inline]] void make(const open_call& begun) noexcept {
#if WEFT_CALL_AT
        if (begun.top != nullptr) [[likely]] {
            call_at(begun.top, &declared_call::run_and_go_back, this);
            return;
        }
#endif
        make_blocking(begun, &declared_call::run, this);
    }

private:
    friend Call;
    declared_call() noexcept = default;

    [[gnu::always_inline]] static inline void run(void* self) noexcept {
        static_cast<Call*>(static_cast<declared_call*>(self))->made();
    }

#if WEFT_CALL_AT
    // Ends without a return, so nothing may count on one. Aligned for the same reason as
    // begin_blocking.
    [[gnu::no_instrument_function, gnu::aligned(64)]] static void run_and_go_back(way_back* from) noexcept {
        run(static_cast<declared_call*>(from));
        go_back(from);
    }
#endif
};

// A call of f, and its result.
template <typename F>
class blocking_call : public declared_call<blocking_call<F>> {
public:
    using result = std::invoke_result_t<F>;

    explicit blocking_call(F& f) noexcept : f_(f) {}

    [[gnu::always_inline]] void made() noexcept {
#if defined(__cpp_exceptions)
        try {
            run_it();
        } catch (...) {
            error_ = std::current_exception();
        }
#else
        run_it();
#endif
    }

    result take() {
        if (error_) std::rethrow_exception(std::move(error_));
        if constexpr (std::is_reference_v<result>) {
            return static_cast<result>(*value_);  // NOLINT(bugprone-unchecked-optional-access): run_it has set it
        } else if constexpr (!std::is_void_v<result>) {
            return std::move(*value_);  // NOLINT(bugprone-unchecked-optional-access): as above
        }
    }

private:
    [[gnu::always_inline]] void run_it() {
        if constexpr (std::is_void_v<result>) {
            std::forward<F>(f_)();
        } else if constexpr (std::is_reference_v<result>) {
            value_ = &std::forward<F>(f_)();
        } else {
            value_.emplace(std::forward<F>(f_)());
        }
    }

    struct nothing {};

    using stored = std::conditional_t<
        std::is_void_v<result>,
        nothing,
        std::conditional_t<
            std::is_reference_v<result>,
            std::remove_reference_t<result>*,
            std::optional<std::conditional_t<std::is_void_v<result>, nothing, std::remove_cvref_t<result>>>>>;

    F& f_;
    stored value_{};
    std::exception_ptr error_;
};

// Best inlined, like blocking(): its own return would be one from an older frame. Not
// always_inline, so that functions compiled for another target can use it.
template <typename F>
inline std::invoke_result_t<F> call_blocking(call_site& site, hand_off when, F& f) {
    blocking_call<F> call(f);
    open_call open;
    begin_blocking(open, site, when);
    call.make(open);
    end_blocking(open, site);
    return call.take();
}

}  // namespace detail

/// Calls f() and returns its result; see above. Throws what f throws. f is called exactly once, on
/// the caller's current OS thread; the caller may continue on another one. The second form says
/// when to hand off the P.
template <typename F>
    requires std::is_invocable_v<F>
inline std::invoke_result_t<F> blocking(F&& f) {
    static constinit detail::call_site site;  // one per type of f, and so per lambda
    return detail::call_blocking<F>(site, hand_off::learned, f);
}

template <typename F>
    requires std::is_invocable_v<F>
inline std::invoke_result_t<F> blocking(hand_off when, F&& f) {
    static constinit detail::call_site site;
    return detail::call_blocking<F>(site, when, f);
}

/// At most cap concurrent calls through this object.
class blocking_pool {
public:
    /// cap: at least 1. name: for people.
    explicit blocking_pool(std::string name, std::ptrdiff_t cap);

    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;

    /// As blocking(f), once a place is free; in order of arrival. A cancellation point while it
    /// waits: then f is not called.
    template <typename F>
        requires std::is_invocable_v<F>
    std::invoke_result_t<F> run(F&& f) {
        static constinit detail::call_site site;
        const place mine(*this);
        return detail::call_blocking<F>(site, hand_off::learned, f);
    }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    [[nodiscard]] std::ptrdiff_t cap() const noexcept { return cap_; }

    /// Number of running and of waiting calls; a snapshot.
    [[nodiscard]] std::ptrdiff_t running() const noexcept {
        return running_.load(detail::relaxed);
    }  // relaxed: a snapshot

    [[nodiscard]] std::ptrdiff_t waiting() const noexcept {
        return waiting_.load(detail::relaxed);
    }  // relaxed: as above

private:
    // Counts one while it exists.
    class counted {
    public:
        explicit counted(detail::atomic<std::ptrdiff_t>& count) noexcept : count_(count) {
            count_.fetch_add(1, detail::relaxed_count);
        }

        ~counted() { count_.fetch_sub(1, detail::relaxed_count); }

        counted(const counted&) = delete;
        counted& operator=(const counted&) = delete;

    private:
        detail::atomic<std::ptrdiff_t>& count_;
    };

    // A place for one call.
    class place {
    public:
        explicit place(blocking_pool& pool);
        ~place();
        place(const place&) = delete;
        place& operator=(const place&) = delete;

    private:
        blocking_pool& pool_;
    };

    const std::string name_;
    const std::ptrdiff_t cap_;
    detail::atomic<std::ptrdiff_t> running_{0};
    detail::atomic<std::ptrdiff_t> waiting_{0};
    counting_semaphore<> free_;
};

}  // namespace weft
