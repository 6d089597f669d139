// parallel.h: computations on all processors, by forks that cost a few nanoseconds.
//
//     long fib(long n) {
//         if (n < 2) return n;
//         weft::forked first([n] { return fib(n - 1); });  // another P may run it
//         const long second = fib(n - 2);
//         return first.join() + second;                    // none did: runs it here
//     }
//
//     weft::parallel_for(0, image.height(), [&](int y) { blur(image, y); });
//     long sum = weft::parallel_reduce(0, n, 0L, [&](int i) { return cost(i); });
//     weft::parallel_sort(names.begin(), names.end());
//     weft::parallel_invoke([&] { left(); }, [&] { right(); });
//
// A fork is a permission, not a promise: it runs on another P if one has no work, and else in the
// caller, when that joins it. So the code between a fork and its join must not wait for what the
// fork does. For that, start a green thread (go.h, scope.h).
//
// - A fork may do all that a green thread may: wait, yield, throw, fork.
// - Which green thread runs it differs from run to run. So do this_g::id(), locals, and mutexes'
//   owners: unlock in a fork what it has locked.
// - An exception goes to the join. Forks that are left unjoined by an exception end first: one that
//   has not begun is never called, one that runs elsewhere is cancelled (cancel.h) and waited for.
// - Contexts (scopes, deadlines, shields) around the fork apply to it on another P, and those
//   around the join to a call in it. Join in the context of the fork. A join is not interrupted.
// - A fork must not outlive its green thread, or the scope or deadline in which it was made. A
//   coroutine must not be suspended between fork and join.
// - An idle P takes a fork when its green thread forks, joins, or calls checkpoint(). Code that
//   computes for long with forks pending should do one of these every 100 us or so.
// - Nested calls use the caller's stack, as recursion does.
//
// Threads: any. The functions of this header run in a green thread of the default runtime if a
//          plain thread calls them. A fork that a plain thread makes runs in its join().
// See:     docs/parallel.md
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <weft/detail/fork_frame.h>
#include <weft/detail/require.h>
#include <weft/detail/source_location.h>
#include <weft/go.h>
#include <weft/scope.h>

namespace weft {

namespace detail {

// Where a promoted fork leaves its result.
template <typename T>
struct fork_result {
    using stored = std::conditional_t<std::is_reference_v<T>, std::add_pointer_t<T>, std::remove_cv_t<T>>;

    std::optional<stored> value;

    template <typename F>
    void keep(F& f) {
        if constexpr (std::is_reference_v<T>) {
            T result = f();
            value.emplace(std::addressof(result));
        } else {
            value.emplace(f());
        }
    }

    T take() {
        if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(**value);  // NOLINT(bugprone-unchecked-optional-access): keep() has returned
        } else {
            return T(std::move(*value));  // NOLINT(bugprone-unchecked-optional-access): as above
        }
    }
};

template <>
struct fork_result<void> {
    template <typename F>
    void keep(F& f) {
        f();
    }

    void take() const noexcept {}
};

}  // namespace detail

/// A call of F that another P may take until join(). Lies in the caller's frame; not copyable. One
/// green thread forks and joins, best in reverse order, as blocks do by themselves. F's result is
/// void, a reference, or of a type that can be moved.
template <typename F>
    requires std::invocable<F&>
class [[nodiscard]] forked : private detail::fork_frame {
public:
    using result = std::invoke_result_t<F&>;

    static_assert(std::is_void_v<result> || std::is_move_constructible_v<result>,
                  "the result of a fork is moved to its join(): return a type that can be moved, or a pointer");

    /// Forks f(). Does not throw, unless moving f does. A few nanoseconds; if a P has no work, it
    /// may start a green thread (or not, without memory for one).
    explicit forked(F f, source_location where = source_location::current()) : f_(std::move(f)) {
        detail::fork_begin(*this, &run_elsewhere, where);
    }

    /// Without join(): the call is cancelled. If it has not begun it never will; if it runs, waits
    /// for its end, and gives its exception to the hook for unobserved exceptions (future.h).
    ~forked() {
        if (list != nullptr) detail::fork_drop(*this);
    }

    forked(const forked&) = delete;
    forked& operator=(const forked&) = delete;

    /// Returns f()'s result, or throws its exception. Calls it here if no other P has begun it,
    /// else waits; the wait is not interrupted. Once only; a second call is fatal.
    result join() {
        if (detail::fork_take_back(*this)) return f_();
        detail::fork_wait(*this);
        return result_.take();
    }

    /// Whether the caller is a plain thread, so that no other thread can take the call.
    [[nodiscard]] bool only_here() const noexcept { return detail::is_outside(*this); }

private:
    static void run_elsewhere(detail::fork_frame& frame) {
        auto& self = static_cast<forked&>(frame);
        self.result_.keep(self.f_);
    }

    F f_;
    [[no_unique_address]] detail::fork_result<result> result_;
};

namespace detail {

// Calls f in a green thread if the caller is a plain thread.
template <typename F>
void on_green_thread(F&& f, source_location where) {
    if (this_g::id() != 0) return f();
    scope([&](task_scope& s) { s.go([&f] { f(); }, where); });
}

template <typename F>
void invoke_all(source_location /*where*/, F& last) {
    last();
}

template <typename F, typename... Rest>
void invoke_all(source_location where, F& first, Rest&... rest) {
    forked other([&first] { first(); }, where);
    invoke_all(where, rest...);
    other.join();
}

// The iterations that a loop runs between two checks whether a P has no work: a small part of the
// loop, so that the last ones end together, and enough to make the checks cheap.
inline std::size_t automatic_grain(std::size_t count) noexcept {
    constexpr std::size_t parts_per_proc = 64;
    constexpr std::size_t largest = 32;
    return std::clamp<std::size_t>(count / (parts_per_proc * procs_of_caller()), 1, largest);
}

// A loop whose pieces have results: add(sum, from, to) returns sum with a piece added, combine
// joins two results, in order. Stops soon after a call has thrown.
template <typename Index, typename T, typename Add, typename Combine>
class parallel_fold {
public:
    parallel_fold(Index grain, bool fixed, const T& empty, Add& add, Combine& combine, source_location where) noexcept
        : grain_(grain), fixed_(fixed), empty_(empty), add_(add), combine_(combine), where_(where) {}

    T run(Index first, Index last) {
        try {
            return fixed_ ? run_fixed(first, last) : run_while_busy(first, last);
        } catch (...) {
            failed_.store(true, std::memory_order_relaxed);  // relaxed: a hint
            throw;
        }
    }

private:
    [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }  // relaxed: a hint

    [[nodiscard]] bool is_divisible(Index first, Index last) const noexcept { return last - first > grain_; }

    T split(Index first, Index last) {
        const auto middle = static_cast<Index>(first + (last - first) / 2);
        forked right([this, middle, last] { return run(middle, last); }, where_);
        T left = run(first, middle);
        return combine_(std::move(left), right.join());
    }

    // Halves down to the grain on any P: the pieces depend on the arguments only.
    T run_fixed(Index first, Index last) {
        if (failed()) return T(empty_);
        if (is_divisible(first, last)) return split(first, last);
        return add_(T(empty_), first, last);
    }

    // Splits only while a P has no work.
    T run_while_busy(Index first, Index last) {
        T sum(empty_);
        while (first < last && !failed()) {
            if (is_divisible(first, last) && wants_fork()) return combine_(std::move(sum), split(first, last));
            const auto end = is_divisible(first, last) ? static_cast<Index>(first + grain_) : last;
            sum = add_(std::move(sum), first, end);
            first = end;
        }
        return sum;
    }

    const Index grain_;
    const bool fixed_;
    const T& empty_;
    Add& add_;
    Combine& combine_;
    const source_location where_;
    std::atomic<bool> failed_{false};
};

// grain: 0 for an automatic one. Requires: first < last.
template <typename Index, typename T, typename Add, typename Combine>
T fold_in_parallel(
    Index first, Index last, std::size_t grain, const T& empty, Add& add, Combine& combine, source_location where) {
    std::optional<T> result;
    const auto count = static_cast<std::size_t>(last - first);
    on_green_thread(
        [&] {
            const std::size_t size = grain != 0 ? (std::min)(grain, count) : automatic_grain(count);
            parallel_fold<Index, T, Add, Combine> fold(static_cast<Index>(size), grain != 0, empty, add, combine,
                                                       where);
            result.emplace(fold.run(first, last));
        },
        where);
    return std::move(*result);  // NOLINT(bugprone-unchecked-optional-access): set above
}

struct no_result {};

// std::plus<> and std::less<>, without <functional>.
struct adds {
    template <typename A, typename B>
    constexpr auto operator()(A&& a, B&& b) const {
        return std::forward<A>(a) + std::forward<B>(b);
    }
};

struct is_less {
    template <typename A, typename B>
    constexpr bool operator()(const A& a, const B& b) const {
        return a < b;
    }
};

// Quicksort: partitions, and forks the upper part.
template <typename Iterator, typename Less>
class parallel_sorter {
public:
    parallel_sorter(Less& less, source_location where) noexcept : less_(less), where_(where) {}

    // levels: how often it may partition; then the pivots were bad.
    void run(Iterator first, Iterator last, int levels) {
        if (last - first <= sorted_at_once || levels == 0) {
            return std::sort(first, last, [this](const auto& a, const auto& b) { return less_(a, b); });
        }
        const std::pair<Iterator, Iterator> parts = partition(first, last);
        forked other([this, from = parts.second, last, levels] { run(from, last, levels - 1); }, where_);
        run(first, parts.first, levels - 1);
        other.join();
    }

private:
    using distance = typename std::iterator_traits<Iterator>::difference_type;
    static constexpr distance sorted_at_once = 1024;

    [[nodiscard]] Iterator median(Iterator a, Iterator b, Iterator c) const {
        if (less_(*b, *a)) std::swap(a, b);
        if (!less_(*c, *b)) return b;
        return less_(*c, *a) ? a : c;
    }

    // The median of three medians of three.
    [[nodiscard]] Iterator choose_pivot(Iterator first, Iterator last) const {
        const distance step = (last - first) / 9;
        const auto of_three = [&](distance at) {
            return median(first + at * step, first + (at + 1) * step, first + (at + 2) * step);
        };
        return median(of_three(0), of_three(3), of_three(6));
    }

    // No element is moved to itself.
    static void swap(Iterator a, Iterator b) {
        if (a != b) std::iter_swap(a, b);
    }

    // Returns the end of what is not above the pivot, and the begin of what is not below it. What
    // lies between is equal to it.
    std::pair<Iterator, Iterator> partition(Iterator first, Iterator last) const {
        swap(first, choose_pivot(first, last));
        const Iterator upper = std::partition(first + 1, last, [&](const auto& x) { return less_(x, *first); });
        const Iterator pivot = upper - 1;
        swap(first, pivot);
        if (pivot - first > (last - first) / 8) return {pivot, upper};
        // Perhaps many are equal to the pivot: they need no sorting.
        return {pivot, std::partition(upper, last, [&](const auto& x) { return !less_(*pivot, x); })};
    }

    Less& less_;
    const source_location where_;
};

}  // namespace detail

/// How a loop is divided.
struct loop_options {
    /// 0: automatic. The loop is split only while a P has no work, and checks that after up to 32
    /// iterations. Else the loop is halved until no piece has more iterations; the pieces are the
    /// same in every run.
    std::size_t grain = 0;
};

/// Calls all functions, in parallel if Ps have no work, and returns when all have returned. The
/// last one is called first, by the caller, which then joins the others, from the last to the
/// first. Throws the first exception that the caller meets so. Those that have not begun then are
/// not called; those that run are cancelled and waited for.
template <typename F, typename... Rest>
    requires(std::invocable<F&> && ... && std::invocable<Rest&>)
void parallel_invoke(F&& first, Rest&&... rest) {
    const source_location here = source_location::current();
    detail::on_green_thread([&] { detail::invoke_all(here, first, rest...); }, here);
}

/// Calls f(i) for each i from first to last - 1, in any order, on any P, and returns when all calls
/// have returned. i has the common type of the bounds, to which last - first must fit. Throws the
/// exception of one call; then some of the others may never be made.
template <std::integral First, std::integral Last, typename F>
    requires std::invocable<F&, std::common_type_t<First, Last>>
void parallel_for(
    First first, Last last, F&& f, loop_options options = {}, source_location where = source_location::current()) {
    using index = std::common_type_t<First, Last>;
    const auto from = static_cast<index>(first);
    const auto to = static_cast<index>(last);
    if (!(from < to)) return;
    const auto add = [&f](detail::no_result, index at, index end) {
        for (; at < end; ++at) f(at);
        return detail::no_result{};
    };
    const auto combine = [](detail::no_result, detail::no_result) { return detail::no_result{}; };
    detail::fold_in_parallel(from, to, options.grain, detail::no_result{}, add, combine, where);
}

/// Returns combine(… combine(combine(empty, map(first)), map(first + 1)) …, map(last - 1)),
/// computed in pieces: combine must be associative, and combine(empty, x) must be x. It need not be
/// commutative; by default it adds. Calls are made on any P, in any order; a copy of empty begins
/// each piece. The sum of floating-point numbers depends on the pieces: give a grain if it must be
/// the same in every run. Exceptions as in parallel_for.
template <std::integral First, std::integral Last, typename T, typename Map, typename Combine = detail::adds>
    requires std::invocable<Map&, std::common_type_t<First, Last>>
[[nodiscard]] T parallel_reduce(First first,
                                Last last,
                                T empty,
                                Map&& map,
                                Combine combine = {},
                                loop_options options = {},
                                source_location where = source_location::current()) {
    using index = std::common_type_t<First, Last>;
    const auto from = static_cast<index>(first);
    const auto to = static_cast<index>(last);
    if (!(from < to)) return empty;
    const auto add = [&map, &combine](T sum, index at, index end) {
        for (; at < end; ++at) sum = combine(std::move(sum), map(at));
        return sum;
    };
    return detail::fold_in_parallel(from, to, options.grain, empty, add, combine, where);
}

/// Sorts as std::sort: not stable, O(n log n) comparisons, in place. less is called on several Ps
/// at once. The first partition is not parallel, so at most about log2(n) / 2 Ps are kept busy.
/// Throws what less, or moving elements, throws; the elements are then unspecified, as with
/// std::sort.
template <std::random_access_iterator Iterator, typename Less = detail::is_less>
    requires std::sortable<Iterator, Less>
void parallel_sort(Iterator first, Iterator last, Less less = {}, source_location where = source_location::current()) {
    detail::on_green_thread(
        [&] {
            const auto levels = 2 * static_cast<int>(std::bit_width(static_cast<std::size_t>(last - first)));
            detail::parallel_sorter<Iterator, Less>(less, where).run(first, last, levels);
        },
        where);
}

}  // namespace weft
