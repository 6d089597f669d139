// big_stack.h: runs a function that needs more stack than its green thread has.
//
//     auto tree = weft::on_big_stack([&] { return parse(text); });             // 1 MiB
//     weft::on_big_stack(16 << 20, [&] { sqlite_or_some_such(); });
//
// For the few calls that go deep: recursive parsers, libraries with large frames, regular
// expressions. f runs in the same green thread. It may wait, migrate, be cancelled and be dumped,
// keeps its locals and locks, and may throw. Only its frames are elsewhere until f returns; then
// the stack goes back to the runtime's pool for reuse.
//
// Costs about as much as a call (about 50 ns) if a stack of the class is pooled; the first use of a
// class maps some. An overflow is reported as that green thread's.
//
// Threads: any thread. See: docs/stacks.md
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

// Calls function(argument) on a stack with size free bytes.
void call_on_big_stack(std::size_t size, void (*function)(void*), void* argument);

}  // namespace detail

namespace this_g {

/// Bytes of stack left to the caller, a green or plain thread.
[[nodiscard]] std::size_t stack_left() noexcept;

}  // namespace this_g

/// Calls f() with at least size bytes of stack; returns or throws what f does. A plain call if the
/// current stack has that much left, or in a plain thread. Throws resource_exhausted if there is no
/// room for another stack, and std::invalid_argument if size exceeds the largest class, 64 MiB; f
/// was not called then.
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
