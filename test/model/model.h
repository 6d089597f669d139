// model.h: the checker's view of the library, and the searches, which all models of this folder
// share.
//
// A model is a program that includes the library's own headers, compiled with WEFT_MODEL. So
// atomics are those of Relacy: at each access another thread may run, and a load may return any
// value that the C++ memory model allows (of the last three stores). A suite is a class with the
// threads' code. check() runs it under one of three kinds of search:
//
//     all        every interleaving and every choice of loads: a proof, for the threads and operations in the suite
//     switches   every interleaving with up to n preemptions
//     random     n executions drawn at random, with the same seed each time; loads may be older here than in the other two
//
// A program built with MUTANT_… has a planted defect and must fail. Before a header is included, a
// mutant redefines a memory order or a name that the header uses. The headers know nothing of it.
//
// Include this first: atomic.h defines words like release as macros, which the standard library's
// headers do not expect.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/detail/atomic.h>

// For mutants: an order that is weaker in one function. It is in the checker's namespace because
// the library also writes detail::acquire.
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

    // Converts a void* to a pointer to the object.
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

// What the headers expect of the library. Defined in search.cc.
void spin_backoff(uint32_t round) noexcept;
[[noreturn]] void assert_failed(const char* condition, const char* file, int line) noexcept;
[[noreturn]] void fatal(const char* format, ...) noexcept;

}  // namespace weft::detail

namespace model {

using namespace weft::detail;

// A T with a detectable destruction: any later access finds overwritten memory and fails.
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

// How to search, and how far: the number of preemptions, or of executions.
struct search {
    enum class kind { all, switches, random } how;
    uint64_t amount;
};

inline constexpr search all{search::kind::all, 0};

constexpr search switches(uint64_t preemptions) { return {search::kind::switches, preemptions}; }

constexpr search random(uint64_t executions) { return {search::kind::random, executions}; }

// A suite without its type. The checker is a template over the suite, and takes longer to compile
// than the rest of a model. So search.cc compiles it once, for one suite that plays this one,
// instead of once for each suite and each mutant.
struct erased_suite {
    unsigned threads;
    void (*construct)();
    void (*before)();
    void (*thread)(unsigned me);
    void (*after)();
    void (*destroy)();
};

// A suite has from two to this many threads of the checker.
inline constexpr unsigned threads_max = 8;

// See check().
bool explore(const erased_suite& suite, const char* name, search how);

// The one Suite that exists at a time.
template <typename Suite>
struct the_suite {
    alignas(Suite) static inline std::byte bytes[sizeof(Suite)];

    static Suite& get() { return *std::launder(reinterpret_cast<Suite*>(bytes)); }
};

// Explores Suite and prints a summary. Returns true if no error was found.
template <typename Suite>
bool check(const char* name, search how) {
    using it = the_suite<Suite>;
    static_assert(Suite::params::thread_count >= 2 && Suite::params::thread_count <= threads_max);
    return explore({
                       .threads = Suite::params::thread_count,
                       .construct = [] { ::new (static_cast<void*>(it::bytes)) Suite(); },
                       .before = [] { it::get().before(); },
                       .thread = [](unsigned me) { it::get().thread(me); },
                       .after = [] { it::get().after(); },
                       .destroy = [] { it::get().~Suite(); },
                   },
                   name, how);
}

}  // namespace model
