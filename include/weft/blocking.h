// blocking.h: calls that block the OS thread: declared, so that nobody is held up by them.
//
// blocking(f) calls f on the OS thread's own stack, of the usual size for threads, and gives the processor to others when f takes
// long: at once, where calls from this place have been long before, else when the monitor sees that others wait. When f has returned
// the green thread waits for a processor, if it has lost its own.
//
//     std::string text = weft::blocking([&] { return read_whole(path); });
//
// A blocking call that is not declared holds nobody up either, but for longer: the monitor has to find out first. See docs/blocking.md.
//
// In f the caller counts as a plain thread: mutexes, channels and the like block the OS thread, this_g::id() is 0, go() starts green
// threads of the same runtime. errno is as f has left it. Scopes and deadlines around the caller hold in f, too. weft::yield() and weft::local are fatal errors
// there. blocking() in f, or in a plain thread, just calls.
//
// A blocking_pool lets only so many calls be under way at once, for what bears no more: a database, a disk. Who comes beyond that
// waits as a green thread.
//
// Who: any thread.
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

// When the processor is given to others.
enum class hand_off : uint8_t {
    learned,  // at once if calls from this place have taken long, else as late
    at_once,  // before the call, if anybody waits for it
    late,     // when the call has taken long, and somebody waits
};

namespace detail {

// What is known of the calls from one place in the program.
class call_site {
public:
    // How long calls have taken lately, in nanoseconds; 0: not known.
    atomic<uint32_t> typical_ns{0};
};

struct M;
class cancel_context;

// A call under way. m: nullptr if the caller is no green thread.
struct open_call {
    M* m;
    int64_t began_ns;                // 0: it is not timed
    cancel_context* context_before;  // if the caller is in one that may be cancelled
    void* top;  // where its frames go, if whoever has begun it may make it with call_at; nullptr: not so
};

// A call to function(argument), which throws nothing, as blocking() makes it: begun, made, ended, all from where blocking() is. A return from
// a frame that was there before a system call may cost as much as all the rest (call_at.h); so there is none where call_at is.
void begin_blocking(open_call& call, const call_site& site, hand_off when);
void make_blocking(const open_call& call, void (*function)(void*) noexcept, void* argument);
void end_blocking(const open_call& call, call_site& site) noexcept;

// What is to be done between begin_blocking and end_blocking: made() of Call, which derives from it and throws nothing.
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
    // Its end is no return: nobody may count on one. Aligned, as begin_blocking: see there.
    [[gnu::no_instrument_function, gnu::aligned(64)]] static void run_and_go_back(way_back* from) noexcept {
        run(static_cast<declared_call*>(from));
        go_back(from);
    }
#endif
};

// A call of f, and what came of it.
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

// Better inlined, as blocking(): or its own return is one to such a frame. But not always: who compiles a function for another target than
// the rest may use it, too.
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

// Calls f() and returns what it returns; see above. Throws what f throws. f is called exactly once, on the OS thread that the caller is
// on; the caller may go on on another one. The second form says when the processor is to be given away.
template <typename F>
    requires std::is_invocable_v<F>
inline std::invoke_result_t<F> blocking(F&& f) {
    static constinit detail::call_site site;  // one for each type of f, and so for each lambda
    return detail::call_blocking<F>(site, hand_off::learned, f);
}

template <typename F>
    requires std::is_invocable_v<F>
inline std::invoke_result_t<F> blocking(hand_off when, F&& f) {
    static constinit detail::call_site site;
    return detail::call_blocking<F>(site, when, f);
}

// At most cap calls at once, of all that go through it.
class blocking_pool {
public:
    // cap: from 1 on. name: for people.
    explicit blocking_pool(std::string name, std::ptrdiff_t cap);

    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;

    // As blocking(f), once there is room: in order of arrival. A cancellation point while it waits: then f is not called.
    template <typename F>
        requires std::is_invocable_v<F>
    std::invoke_result_t<F> run(F&& f) {
        static constinit detail::call_site site;
        const place mine(*this);
        return detail::call_blocking<F>(site, hand_off::learned, f);
    }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    [[nodiscard]] std::ptrdiff_t cap() const noexcept { return cap_; }

    // How many calls are under way, and how many wait for that; a moment ago.
    [[nodiscard]] std::ptrdiff_t running() const noexcept { return running_.load(detail::relaxed); }  // relaxed: a look

    [[nodiscard]] std::ptrdiff_t waiting() const noexcept {
        return waiting_.load(detail::relaxed);
    }  // relaxed: as above

private:
    // Counts one while it lives.
    class counted {
    public:
        explicit counted(detail::atomic<std::ptrdiff_t>& count) noexcept : count_(count) {
            count_.fetch_add(1, detail::relaxed);  // relaxed: statistics
        }

        ~counted() { count_.fetch_sub(1, detail::relaxed); }  // relaxed: statistics

        counted(const counted&) = delete;
        counted& operator=(const counted&) = delete;

    private:
        detail::atomic<std::ptrdiff_t>& count_;
    };

    // Room for one call.
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
