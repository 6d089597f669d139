// promise.h: a result provided by hand, from any thread; and combinations of futures.
//
//     weft::promise<int> p;
//     auto f = p.get_future();
//     start_query([p = std::move(p)](int answer) mutable { p.set_value(answer); });   // a library's callback
//     int answer = f.get();                                                            // parks the green thread
//
// See: docs/futures.md
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <weft/detail/require.h>
#include <weft/detail/source_location.h>
#include <weft/future.h>
#include <weft/select.h>

namespace weft {

/// The producer's side of a future. Move-only. Any thread may use it, but only one at a time.
template <typename T>
class promise {
public:
    /// Throws std::bad_alloc.
    promise() : state_(std::make_shared<detail::promise_state<T>>()) {}

    promise(promise&&) noexcept = default;

    promise& operator=(promise&& other) noexcept {
        // Drops the old state last, so self-assignment changes nothing.
        promise taken(std::move(other));
        std::swap(state_, taken.state_);
        std::swap(satisfied_, taken.satisfied_);
        std::swap(retrieved_, taken.retrieved_);
        return *this;
    }

    promise(const promise&) = delete;
    promise& operator=(const promise&) = delete;

    /// A promise without a result leaves std::future_error, broken_promise, to its future, if that
    /// still exists.
    ~promise() {
        if (state_ != nullptr && !satisfied_ && retrieved_) state_->break_promise();
    }

    /// Returns the future. Once; then throws std::future_error.
    [[nodiscard]] future<T> get_future() {
        check_state();
        if (std::exchange(retrieved_, true)) throw std::future_error(std::future_errc::future_already_retrieved);
        return detail::future_access::make<T>(state_);
    }

    /// Provides the value. Once; throws std::future_error if there is a result already, and what
    /// copying or moving throws. If the future was cancelled, the value is dropped without an
    /// error.
    template <typename... U>
        requires(std::is_void_v<T> ? sizeof...(U) == 0 : sizeof...(U) == 1)
    void set_value(U&&... value) {
        provide([&] {
            if constexpr (std::is_reference_v<T>) {
                state_->store(std::addressof(value)...);
            } else {
                state_->store(std::forward<U>(value)...);
            }
        });
    }

    /// Provides an exception instead. As set_value().
    void set_exception(std::exception_ptr e) {
        provide([&] { state_->store_error(std::move(e)); });
    }

private:
    void check_state() const {
        if (state_ == nullptr) throw std::future_error(std::future_errc::no_state);
    }

    void check_unsatisfied() const {
        check_state();
        if (satisfied_) throw std::future_error(std::future_errc::promise_already_satisfied);
    }

    template <typename Store>
    void provide(Store store) {
        check_unsatisfied();
        if (state_->claim()) {
            try {
                store();
            } catch (...) {
                state_->unclaim();
                throw;
            }
            state_->complete();
        }
        satisfied_ = true;
    }

    std::shared_ptr<detail::future_state<T>> state_;
    bool satisfied_ = false;
    bool retrieved_ = false;
};

namespace detail {

// Calls f(argument) on a new, detached plain thread. Throws std::system_error if it cannot start.
void run_on_thread(void (*f)(void*), void* argument);

// Represents a future<void> in a tuple.
template <typename T>
using held_value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <typename T>
held_value<T> get_held(future<T>& f) {
    if constexpr (std::is_void_v<T>) {
        f.get();
        return {};
    } else {
        return f.get();
    }
}

}  // namespace detail

namespace detail {

template <typename... T>
auto sources_of(const future<T>&... futures) {
    return std::array<std::weak_ptr<future_core>, sizeof...(T)>{future_access::core(futures)...};
}

template <typename T>
auto sources_of(const std::vector<future<T>>& futures) {
    std::vector<std::weak_ptr<future_core>> sources;
    sources.reserve(futures.size());
    for (const future<T>& each : futures) sources.push_back(future_access::core(each));
    return sources;
}

// Makes a future from those in all. body(all, state) waits for them on a new green thread and
// stores the outcome in state. cancel() does not interrupt that wait; it cancels the sources, which
// ends it. A stopping runtime does interrupt it.
template <typename T, typename Sources, typename All, typename Body>
future<T> derive(Sources sources, All all, Body body, source_location where = source_location::current()) {
    auto state = std::make_shared<derived_state<T, Sources>>(std::move(sources));
    spawn(
        nullptr, nullptr,
        [state, parts = std::optional<All>(std::move(all)), body]() mutable {
            try {
                body(*parts, *state);
            } catch (...) {
                state->store_error(std::current_exception());
            }
            parts.reset();
            end_locals();
            state->let_go();
            state->complete();
        },
        where);
    return future_access::make<T>(std::move(state));
}

template <typename T>
bool pass_error(const future<T>& from, future_core& to) {
    return future_access::state(from).pass_error(to);
}

}  // namespace detail

/// A future for a tuple of all results (std::monostate for void), ready when all have ended. If
/// several have failed, the first in argument order is thrown. cancel() of it cancels all. Consumes
/// the futures. Throws as async().
template <typename... T>
[[nodiscard]] future<std::tuple<detail::held_value<T>...>> when_all(future<T>... futures) {
    using result = std::tuple<detail::held_value<T>...>;
    auto sources = detail::sources_of(futures...);
    return detail::derive<result>(sources, std::make_tuple(std::move(futures)...), [](auto& all, auto& state) {
        std::apply(
            [&state](auto&... each) {
                (each.wait(), ...);
                if (!(detail::pass_error(each, state) || ...)) state.store(result{detail::get_held(each)...});
            },
            all);
    });
}

/// The same for a vector: results in its order; for void, std::monostate.
template <typename T>
[[nodiscard]] future<std::vector<detail::held_value<T>>> when_all(std::vector<future<T>> futures) {
    using result = std::vector<detail::held_value<T>>;
    auto sources = detail::sources_of(futures);
    return detail::derive<result>(std::move(sources), std::move(futures), [](auto& all, auto& state) {
        for (const future<T>& each : all) each.wait();
        for (const future<T>& each : all) {
            if (detail::pass_error(each, state)) return;
        }
        result values;
        values.reserve(all.size());
        for (future<T>& each : all) values.push_back(detail::get_held(each));
        state.store(std::move(values));
    });
}

/// The index of the first ready future, and all futures. futures[index].get() does not wait; it may
/// throw.
template <typename Futures>
struct when_any_result {
    std::size_t index;
    Futures futures;
};

/// A future for the first to end, with a result or an exception. Consumes the futures and returns
/// them in its result. cancel() of it cancels all, unless the first has ended; then the others
/// continue, and can be cancelled one by one.
template <typename... T>
    requires(sizeof...(T) > 0)
[[nodiscard]] future<when_any_result<std::tuple<future<T>...>>> when_any(future<T>... futures) {
    using result = when_any_result<std::tuple<future<T>...>>;
    auto sources = detail::sources_of(futures...);
    return detail::derive<result>(sources, std::make_tuple(std::move(futures)...), [](auto& all, auto& state) {
        const std::size_t first =
            std::apply([](auto&... each) { return select_first(ready_case(each)...).index(); }, all);
        state.store(result{first, std::move(all)});
    });
}

/// The same for a vector. Throws std::invalid_argument if it is empty.
template <typename T>
[[nodiscard]] future<when_any_result<std::vector<future<T>>>> when_any(std::vector<future<T>> futures) {
    if (futures.empty()) throw std::invalid_argument("weft::when_any: the list of futures is empty; pass at least one");
    using result = when_any_result<std::vector<future<T>>>;
    auto sources = detail::sources_of(futures);
    return detail::derive<result>(std::move(sources), std::move(futures), [](auto& all, auto& state) {
        std::vector<detail::select_case> cases(all.size());
        std::vector<detail::held_lock> locks(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            detail::count_select_case::prepare(cases[i], detail::future_access::state(all[i]).pending());
        }
        detail::select_request request{
            .cases = cases.data(), .count = cases.size(), .locks = locks.data(), .in_order = true};
        const std::size_t first = detail::select_among(request);
        state.store(result{first, std::move(all)});
    });
}

/// Waits for a foreign std::future without blocking the OS thread: f.get() for a green thread. The
/// standard offers no notification, so one that is not ready costs an OS thread while it waits. A
/// deferred one is computed here. A plain thread just waits. A cancellation point; interrupted, it
/// leaves that thread waiting and f consumed. Throws what f holds, and std::system_error if no
/// thread can be made.
template <typename T>
T await(std::future<T> f) {
    if (this_g::id() == 0 || f.wait_for(std::chrono::seconds(0)) != std::future_status::timeout) return f.get();
    promise<T> kept;
    future<T> result = kept.get_future();

    struct waiting {
        std::future<T> f;
        promise<T> kept;

        static void run(void* self) {
            const std::unique_ptr<waiting> w(static_cast<waiting*>(self));
            try {
                if constexpr (std::is_void_v<T>) {
                    w->f.get();
                    w->kept.set_value();
                } else {
                    w->kept.set_value(w->f.get());
                }
            } catch (...) {
                w->kept.set_exception(std::current_exception());
            }
        }
    };

    auto w = std::make_unique<waiting>(std::move(f), std::move(kept));
    detail::run_on_thread(&waiting::run, w.get());
    static_cast<void>(w.release());  // the thread owns it
    return result.get();
}

}  // namespace weft
