// lockable.h: the standard's named requirements for locks, as concepts.
#pragma once

#include <chrono>
#include <concepts>

namespace weft::test {

template <typename L>
concept basic_lockable = requires(L& m) {
    { m.lock() } -> std::same_as<void>;
    { m.unlock() } noexcept -> std::same_as<void>;
};

template <typename L>
concept lockable = basic_lockable<L> && requires(L& m) {
    { m.try_lock() } -> std::same_as<bool>;
};

template <typename L>
concept timed_lockable = lockable<L> && requires(L& m,
                                                 std::chrono::hours h,
                                                 std::chrono::duration<float> f,
                                                 std::chrono::steady_clock::time_point t,
                                                 std::chrono::system_clock::time_point s) {
    { m.try_lock_for(h) } -> std::same_as<bool>;
    { m.try_lock_for(f) } -> std::same_as<bool>;
    { m.try_lock_until(t) } -> std::same_as<bool>;
    { m.try_lock_until(s) } -> std::same_as<bool>;
};

template <typename L>
concept shared_lockable = requires(L& m) {
    { m.lock_shared() } -> std::same_as<void>;
    { m.try_lock_shared() } -> std::same_as<bool>;
    { m.unlock_shared() } noexcept -> std::same_as<void>;
};

template <typename L>
concept shared_timed_lockable = shared_lockable<L> && requires(L& m,
                                                               std::chrono::hours h,
                                                               std::chrono::duration<float> f,
                                                               std::chrono::steady_clock::time_point t,
                                                               std::chrono::system_clock::time_point s) {
    { m.try_lock_shared_for(h) } -> std::same_as<bool>;
    { m.try_lock_shared_for(f) } -> std::same_as<bool>;
    { m.try_lock_shared_until(t) } -> std::same_as<bool>;
    { m.try_lock_shared_until(s) } -> std::same_as<bool>;
};

// Mutex of the standard: also immovable, with a constructor that does not throw.
template <typename L>
concept mutex_like = lockable<L> && std::is_nothrow_default_constructible_v<L> && std::destructible<L> &&
                     !std::copy_constructible<L> && !std::move_constructible<L> && !std::assignable_from<L&, L>;

}  // namespace weft::test
