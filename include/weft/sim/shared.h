// shared.h: a value that several green threads use, whose accesses a simulation checks.
//
//     weft::sim::shared<int> hits(0);
//     m.lock();
//     hits = hits + 1;                         // each access is a point of preemption
//     m.unlock();
//     map.write([](auto& m) { m["a"] = 1; });  // one access
//
// A schedule has a data race if two green threads access the value, one of them writes, and no
// operation on a lock, channel or other object of weft orders the two. They need not have come at
// the same time. Order is taken from all operations on the same object, so races that only
// the kind of operation allows (two receives, for example) may be missed. None is reported falsely,
// as long as plain threads and std::atomic do not order accesses.
//
// Outside of simulations an access costs two instructions.
//
// See: docs/sim.md#data-races
#pragma once

#include <concepts>
#include <source_location>
#include <type_traits>
#include <utility>

#include <weft/detail/step.h>

namespace weft::sim {

namespace detail {

// Simulations keep the order of operations if a program has shared values.
bool has_shared_values() noexcept;
bool note_shared_values() noexcept;

void access(const void* value, bool writes, const std::source_location& where) noexcept;
void forget_value(const void* value) noexcept;

}  // namespace detail

/// Copying and moving it are accesses. Any thread, as far as T allows.
template <typename T>
class shared {
public:
    using where = std::source_location;

    shared() noexcept(std::is_nothrow_default_constructible_v<T>)
        requires std::default_initializable<T>
    {}

    explicit shared(T value) noexcept(std::is_nothrow_move_constructible_v<T>) : value_(std::move(value)) {}

    shared(const shared& other, where at = where::current()) : value_(other.load(at)) {}

    ~shared() {
        if (weft::detail::simulates()) detail::forget_value(this);
    }

    shared& operator=(const shared& other) {
        if (this != &other) store(other.load());
        return *this;
    }

    /// With the place of the assignment.
    struct assigned {
        template <std::convertible_to<T> U>
        assigned(U&& from, where in = where::current())  // NOLINT: as T itself
            : value(std::forward<U>(from)), at(in) {}

        T value;
        where at;
    };

    shared& operator=(assigned from) {
        store(std::move(from.value), from.at);
        return *this;
    }

    /// Reports of races cannot name the place of such a read; load() can.
    operator T() const { return load(); }  // NOLINT: as T itself

    [[nodiscard]] T load(where at = where::current()) const {
        note(false, at);
        return value_;
    }

    void store(T value, where at = where::current()) {
        note(true, at);
        value_ = std::move(value);
    }

    /// f(const T&) or f(T&). Returns what f returns. f must not wait.
    template <typename F>
    decltype(auto) read(F&& f, where at = where::current()) const {
        note(false, at);
        return std::forward<F>(f)(value_);
    }

    template <typename F>
    decltype(auto) write(F&& f, where at = where::current()) {
        note(true, at);
        return std::forward<F>(f)(value_);
    }

private:
    void note(bool writes, const where& at) const noexcept {
        if (weft::detail::simulates()) [[unlikely]]
            detail::access(this, writes, at);
        static_cast<void>(&noted);
    }

    // Before main(), because what happens before the first access orders it, too.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wglobal-constructors"
#endif
    static inline const bool noted = detail::note_shared_values();
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

    T value_{};
};

}  // namespace weft::sim
