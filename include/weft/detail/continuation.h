// continuation.h: starts a green thread when a count becomes zero; no stack waits for that.
//
// The green thread is created at once, so its resources are reserved. Until it starts it lies in
// the count's queue of waiters and takes 256 bytes and its closure.
//
// See: docs/futures.md
#pragma once

#include <type_traits>
#include <utility>

#include <weft/detail/count_word.h>
#include <weft/detail/require.h>
#include <weft/detail/source_location.h>
#include <weft/go.h>

namespace weft::detail {

// Starts body() as a green thread once count is zero. count must live until then. Throws what go()
// throws, with body unchanged, and what moving body throws.
template <typename F>
void go_when_zero(count_word& count, F&& body, source_location where) {
    static_assert(!std::is_lvalue_reference_v<F>, "F must not be a reference, because body is moved");

    struct continuation {
        waiter w;
        F f;

        explicit continuation(F&& from) : f(std::move(from)) {}

        void operator()() {
            wait_is_over();
            f();
        }
    };

    const spawning made = spawn_begin(nullptr, nullptr, entry_type_of<continuation>, where);
    continuation* c = nullptr;
    if constexpr (std::is_nothrow_move_constructible_v<F>) {
        c = ::new (made.closure) continuation(std::forward<F>(body));
    } else {
        try {
            c = ::new (made.closure) continuation(std::forward<F>(body));
        } catch (...) {
            spawn_abandon(made.g);
            throw;
        }
    }
    const hold_if<false> held;
    const uint32_t bits = count.lock_word().lock_bits();
    if (count_word::is_zero(bits)) {
        count.lock_word().unlock_bits(bits);
        spawn_commit(made.g);
    } else {
        spawn_waiting(made.g, c->w, count.waiters(), count.lock_word(), bits | count_word::waiting_bit,
                      wait_reason::future_get);
    }
}

}  // namespace weft::detail
