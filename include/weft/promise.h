// promise.h: a result that somebody provides by hand, from any thread; and combining futures.
//
//     weft::promise<int> p;
//     auto f = p.get_future();
//     start_query([p = std::move(p)](int answer) mutable { p.set_value(answer); });   // a callback of some library
//     int answer = f.get();                                                            // parks the green thread
//
// See: docs/futures.md
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <weft/detail/require.h>
#include <weft/future.h>
#include <weft/select.h>

namespace weft {

// The providing side of a future. Move-only; not for use by several threads at once, but by any.
template <typename T>
class promise {
public:
    // Throws std::bad_alloc.
    promise() : state_(std::make_shared<detail::future_state<T>>()) {}

    promise(promise&&) noexcept = default;

    promise& operator=(promise&& other) noexcept {
        promise taken(std::move(other));  // and then what was here: nothing changes if they are the same
        std::swap(state_, taken.state_);
        std::swap(satisfied_, taken.satisfied_);
        std::swap(retrieved_, taken.retrieved_);
        return *this;
    }

    promise(const promise&) = delete;
    promise& operator=(const promise&) = delete;

    // A promise that was not kept, if somebody has taken its future: that gets std::future_error, broken_promise.
    ~promise() {
        if (state_ == nullptr || satisfied_ || !retrieved_) return;
        state_->store_error(std::make_exception_ptr(std::future_error(std::future_errc::broken_promise)));
        state_->complete();
    }

    // The future. Once; throws std::future_error.
    [[nodiscard]] future<T> get_future() {
        check_state();
        if (std::exchange(retrieved_, true)) throw std::future_error(std::future_errc::future_already_retrieved);
        return detail::future_access::make<T>(state_);
    }

    // Provides the value. Once; throws std::future_error if there is one already, and what copying or moving throws.
    template <typename... U>
        requires(std::is_void_v<T> ? sizeof...(U) == 0 : sizeof...(U) == 1)
    void set_value(U&&... value) {
        check_unsatisfied();
        if constexpr (std::is_reference_v<T>) {
            state_->store(std::addressof(value)...);
        } else {
            state_->store(std::forward<U>(value)...);
        }
        satisfied_ = true;
        state_->complete();
    }

    // Provides an exception instead. As set_value().
    void set_exception(std::exception_ptr e) {
        check_unsatisfied();
        state_->store_error(std::move(e));
        satisfied_ = true;
        state_->complete();
    }

private:
    void check_state() const {
        if (state_ == nullptr) throw std::future_error(std::future_errc::no_state);
    }

    void check_unsatisfied() const {
        check_state();
        if (satisfied_) throw std::future_error(std::future_errc::promise_already_satisfied);
    }

    std::shared_ptr<detail::future_state<T>> state_;
    bool satisfied_ = false;
    bool retrieved_ = false;
};

namespace detail {

// Calls f(argument) on a plain thread of its own, which nobody joins. Throws std::system_error if none can be had.
void run_on_thread(void (*f)(void*), void* argument);

// What a future<void> is in a tuple.
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

// A future for all results: a tuple, in which std::monostate stands for void. When all have ended; if several have failed, the first in
// the order of the arguments is thrown. Uses the futures up. Throws as async().
template <typename... T>
[[nodiscard]] future<std::tuple<detail::held_value<T>...>> when_all(future<T>... futures) {
    return async([all = std::make_tuple(std::move(futures)...)]() mutable {
        return std::apply(
            [](auto&... each) {
                (each.wait(), ...);
                return std::tuple<detail::held_value<T>...>{detail::get_held(each)...};
            },
            all);
    });
}

// The same for as many as there are: a vector in their order; for void, of std::monostate.
template <typename T>
[[nodiscard]] future<std::vector<detail::held_value<T>>> when_all(std::vector<future<T>> futures) {
    return async([all = std::move(futures)]() mutable {
        for (const future<T>& each : all) each.wait();
        std::vector<detail::held_value<T>> values;
        values.reserve(all.size());
        for (future<T>& each : all) values.push_back(detail::get_held(each));
        return values;
    });
}

// Which of several futures was first, and all of them: futures[index].get() does not wait, or throws.
template <typename Futures>
struct when_any_result {
    std::size_t index;
    Futures futures;
};

// A future for the first to end, however it ends. Uses the futures up, and gives them back in its result.
template <typename... T>
    requires(sizeof...(T) > 0)
[[nodiscard]] future<when_any_result<std::tuple<future<T>...>>> when_any(future<T>... futures) {
    return async([all = std::make_tuple(std::move(futures)...)]() mutable {
        const std::size_t first = std::apply([](auto&... each) { return select_first(ready(each)...).index(); }, all);
        return when_any_result<std::tuple<future<T>...>>{first, std::move(all)};
    });
}

// The same for as many as there are, at least one: throws std::invalid_argument.
template <typename T>
[[nodiscard]] future<when_any_result<std::vector<future<T>>>> when_any(std::vector<future<T>> futures) {
    if (futures.empty()) throw std::invalid_argument("weft::when_any: there are no futures");
    return async([all = std::move(futures)]() mutable {
        std::vector<detail::select_case> cases(all.size());
        std::vector<detail::held_lock> locks(all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            detail::count_select_case::prepare(cases[i], detail::future_access::state(all[i]).pending());
        }
        detail::select_request request{
            .cases = cases.data(), .count = cases.size(), .locks = locks.data(), .in_order = true};
        const std::size_t first = detail::select_among(request);
        return when_any_result<std::vector<future<T>>>{first, std::move(all)};
    });
}

// Waits for a std::future of somebody else's without holding up the OS thread: f.get() for a green thread. The standard gives no way to be
// told, so one that is not ready costs an OS thread of its own while it waits; a deferred one is computed here. A plain thread
// just waits. A cancellation point; interrupted, it leaves that thread waiting, and f is used up. Throws what f holds, and
// std::system_error if no thread can be had.
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
    static_cast<void>(w.release());  // the thread's
    return result.get();
}

}  // namespace weft
