// model.h: what the model checks of this folder share: the checker's view of the library, and the searches.
//
// A model is a program that includes the library's own headers, compiled with WEFT_MODEL, so that atomics are those of
// Relacy: each access is a point where another thread may run on, and a load may return any value that the C++ memory model
// allows (of the last three stores). A suite is a class with the threads' code; check() runs it under three kinds of search:
//
//   all        every interleaving and every choice of loads: a proof, for the threads and operations in the suite
//   switches   every interleaving with up to n preemptions
//   random     n executions drawn at random, with the same seed each time; loads may be older here than in the other two
//
// A program built with MUTANT_… has a defect planted in it and must fail. Defects are planted by redefining, before a header is
// included, a memory order or a name that the header uses; the headers know nothing of it.
//
// Include this first: atomic.h defines words like release as macros, which the standard library's headers do not expect.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/detail/atomic.h>

// For mutants: an order that is weaker in one function. In the checker's namespace since the library also writes detail::acquire.
#define RELAXED_IN(function, otherwise) rl::relaxed_if(std::strcmp(__func__, function) == 0, otherwise), $

namespace rl {

inline memory_order relaxed_if(bool weaker, memory_order otherwise) { return weaker ? mo_relaxed : otherwise; }

}  // namespace rl

namespace weft::detail {

// A shared variable that is not atomic. The checker sees every access.
template <typename T>
class guarded {
public:
    guarded() { ::new (static_cast<void*>(var_)) rl::var<T>(); }

    guarded(T value) { ::new (static_cast<void*>(var_)) rl::var<T>(value); }  // NOLINT: as T

    guarded(const guarded& other) : guarded(other.get()) {}

    ~guarded() {
        var().~var();
        const_cast<volatile uint32_t&>(mark_) = dead;
    }

    guarded& operator=(T value) {
        var()($) = value;
        return *this;
    }

    guarded& operator=(const guarded& other) { return *this = other.get(); }

    operator T() const { return get(); }  // NOLINT: as T

    T operator->() const { return get(); }

    guarded& operator++() { return *this = get() + 1; }

    guarded& operator--() { return *this = get() - 1; }

    // From void* to what it points to.
    template <typename U>
        requires(std::is_same_v<T, void*> && !std::is_void_v<U>)
    explicit operator U*() const {
        return static_cast<U*>(get());
    }

private:
    static constexpr uint32_t alive = 0x600dda7a;
    static constexpr uint32_t dead = 0xdeaddead;

    rl::var<T>& var() const {
        if (const_cast<const volatile uint32_t&>(mark_) != alive) {
            rl::ctx().fail_test("used after its destruction", rl::test_result_access_to_freed_memory, $);
        }
        return *reinterpret_cast<rl::var<T>*>(const_cast<std::byte*>(var_));
    }

    T get() const { return var()($); }

    alignas(rl::var<T>) std::byte var_[sizeof(rl::var<T>)];
    uint32_t mark_ = alive;
};

template <typename T>
class peekable : public guarded<T> {
public:
    using guarded<T>::guarded;

    peekable& operator=(T value) {
        guarded<T>::operator=(value);
        return *this;
    }

    // A hint may be wrong either way.
    [[nodiscard]] static T peek() {
        return rl::rand(2) != 0 ? (T)sizeof(void*) : T{};  // NOLINT: a number or a pointer
    }
};

// What the headers expect of the library.
void spin_backoff(uint32_t) noexcept { rl::yield(1, $); }

[[noreturn]] void assert_failed(const char* condition, const char*, int) noexcept {
    rl::ctx().fail_test(condition, rl::test_result_user_assert_failed, $);
    std::abort();
}

[[noreturn]] void fatal(const char* format, ...) noexcept {
    rl::ctx().fail_test(format, rl::test_result_user_assert_failed, $);
    std::abort();
}

}  // namespace weft::detail

namespace model {

using namespace weft::detail;

// A T whose destruction is noticed: whoever touches it afterwards finds rubbish and fails.
template <typename T>
class box {
public:
    template <typename... Args>
    explicit box(Args&&... args) {
        ::new (static_cast<void*>(bytes_)) T(std::forward<Args>(args)...);
    }

    box(const box&) = delete;

    ~box() {
        if (!destroyed_) destroy();
    }

    T* operator->() { return std::launder(reinterpret_cast<T*>(bytes_)); }

    T& operator*() { return *operator->(); }

    void destroy() {
        destroyed_ = true;
        operator->()->~T();
        std::memset(bytes_, 0xdd, sizeof(bytes_));
        asm volatile("" ::: "memory");
    }

private:
    alignas(T) std::byte bytes_[sizeof(T)];
    bool destroyed_ = false;
};

// A search, and the checker's scheduler that does it.
template <template <rl::thread_id_t> class Scheduler>
struct search {
    uint64_t amount;  // all: nothing; switches: how many; random: how many executions
};

constexpr search<rl::full_search_scheduler> all{0};

constexpr search<rl::context_bound_scheduler> switches(uint64_t preemptions) { return {preemptions}; }

constexpr search<rl::random_scheduler> random(uint64_t executions) { return {executions}; }

// Where Relacy writes: a history is printed only if something was found. It must not allocate, because in a model operator new
// belongs to Relacy.
class report_buffer : public std::streambuf {
public:
    void print() const { std::printf("%.*s\n", static_cast<int>(used_), text_); }

protected:
    int overflow(int c) override {
        if (used_ < sizeof(text_)) text_[used_++] = static_cast<char>(c);
        return c;
    }

private:
    std::size_t used_ = 0;
    char text_[1 << 20];
};

inline void describe(char (&text)[32], search<rl::full_search_scheduler>, rl::test_params& params) {
    params.search_type = rl::sched_full;
    std::snprintf(text, sizeof(text), "all");
}

inline void describe(char (&text)[32], search<rl::context_bound_scheduler> how, rl::test_params& params) {
    params.search_type = rl::sched_bound;
    params.context_bound = static_cast<unsigned>(how.amount);
    std::snprintf(text, sizeof(text), "%u preemptions", params.context_bound);
}

inline void describe(char (&text)[32], search<rl::random_scheduler> how, rl::test_params& params) {
    params.search_type = rl::sched_random;
    params.iteration_count = how.amount;
    std::snprintf(text, sizeof(text), "random");
}

// Explores Suite. Prints what was done; true if nothing was found. rl::simulate would compile the suite for all searches.
template <typename Suite, template <rl::thread_id_t> class Scheduler>
bool check(const char* name, search<Scheduler> how) {
    static report_buffer buffer;
    static std::ostream report(&buffer);
    static std::ostream nowhere(nullptr);
    rl::test_params params;
    params.output_stream = &report;
    params.progress_stream = &nowhere;
    params.execution_depth_limit = 20'000;
    char kind[32];
    describe(kind, how, params);
    const std::clock_t start = std::clock();
    using scheduler = Scheduler<Suite::params::thread_count>;
    rl::ostringstream state;
    const bool ok = rl::run_test<Suite, scheduler>(params, state, false) == rl::test_result_success;
    std::printf("%-44s %-15s %9llu executions %5.1f s  %s\n", name, kind,
                static_cast<unsigned long long>(params.stop_iteration),
                static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC,
                ok ? "ok" : rl::test_result_str(params.test_result));
    std::fflush(stdout);
    if (ok) return true;
    // Once more, to write its history down.
    params.initial_state = state.str();
    params.collect_history = true;
    rl::run_test<Suite, scheduler>(params, state, true);
    buffer.print();
    return false;
}

}  // namespace model
