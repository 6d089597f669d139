// real.h: the functions of the C library that weft::hooks defines, as the C library has them.
//
// A real function is looked up at its first call. It is what the next library in the search order
// has: the C library, or a sanitizer between.
//
// errno belongs to the OS thread, and a green thread may continue on another one. A compiler keeps
// the address of errno for a whole function, so code that parks reads and writes it only by the
// functions here.
//
// Threads: any.
#pragma once

#include <dlfcn.h>

#include <cerrno>

#include <weft/detail/atomic.h>

namespace weft::hooks {

#if defined(__clang__)
#define WEFT_HOOKS_OPAQUE [[gnu::noinline]]
#else
#define WEFT_HOOKS_OPAQUE [[gnu::noipa]]
#endif

// The calling OS thread's errno, now.
[[nodiscard]] int last_error() noexcept;
void set_error(int error) noexcept;

// Sets errno and returns -1.
inline int fail(int error) noexcept {
    set_error(error);
    return -1;
}

// Function: the type of the function. `constinit static` only, so that it exists before all
// constructors.
template <typename Function>
class real;

template <typename Result, typename... Arguments>
class real<Result(Arguments...)> {
public:
    explicit constexpr real(const char* name) noexcept : name_(name) {}

    Result operator()(Arguments... arguments) const { return find()(arguments...); }

private:
    using Function = Result(Arguments...);

    [[nodiscard]] Function* find() const noexcept {
        Function* f = found_.load(detail::relaxed);  // relaxed: the code was there before
        if (f != nullptr) [[likely]]
            return f;
        const int kept = last_error();
        f = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
        found_.store(f, detail::relaxed);  // relaxed: as above
        set_error(kept);
        return f;
    }

    const char* const name_;
    mutable detail::atomic<Function*> found_{nullptr};
};

}  // namespace weft::hooks
