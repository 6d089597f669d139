// big_stack.h: running a function that needs more stack than its green thread has.
//
//     auto tree = weft::on_big_stack([&] { return parse(text); });             // 1 MiB
//     weft::on_big_stack(16 << 20, [&] { sqlite_or_some_such(); });
//
// For the few calls that go deep: recursive parsers, libraries with large frames, regular expressions. The green thread stays the same:
// it may wait, migrate, be cancelled and be dumped in f, its locals and locks are its own, and exceptions leave f as they leave any
// function. Only its frames lie elsewhere until f returns; then the stack goes back to the runtime's pool, for the next one.
//
// Costs about as much as a call (some 50 ns) when a stack of the class is pooled; the first use of a class maps some. Running over the
// end of it is reported as that green thread's overflow.
//
// Who: any thread. See: docs/stacks.md
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/detail/require.h>

namespace weft {

inline constexpr std::size_t big_stack_size = 1024 * 1024;

namespace detail {

// Calls function(argument) where there are size bytes of stack.
void call_on_big_stack(std::size_t size, void (*function)(void*), void* argument);

}  // namespace detail

namespace this_g {

// Bytes of stack that are left to the caller: of its green thread's, or of the plain thread's.
[[nodiscard]] std::size_t stack_left() noexcept;

}  // namespace this_g

// Calls f() with at least size bytes of stack and returns what it returns, throws what it throws. If so much is left of the stack that
// the caller is on, or it is a plain thread, that is a mere call. Throws resource_exhausted if there is no room for another stack,
// std::invalid_argument if size is beyond the largest class, 64 MiB; f was not called then.
template <typename F>
decltype(auto) on_big_stack(std::size_t size, F&& f) {
    using result = std::invoke_result_t<F&>;
    using kept = std::conditional_t<std::is_void_v<result>, bool,
                                    std::conditional_t<std::is_reference_v<result>, std::remove_reference_t<result>*,
                                                       std::optional<std::remove_cv_t<result>>>>;

    struct call {
        std::remove_reference_t<F>& f;
        kept value{};

        static void run(void* p) {
            call& self = *static_cast<call*>(p);
            if constexpr (std::is_void_v<result>) {
                self.f();
            } else if constexpr (std::is_reference_v<result>) {
                auto&& reference = self.f();
                self.value = std::addressof(reference);
            } else {
                self.value.emplace(self.f());
            }
        }
    } c{f};

    detail::call_on_big_stack(size, &call::run, &c);
    if constexpr (!std::is_void_v<result>) return static_cast<result>(*std::move(c.value));
}

template <typename F>
decltype(auto) on_big_stack(F&& f) {
    return on_big_stack(big_stack_size, std::forward<F>(f));
}

}  // namespace weft
