// task_group.h: green threads that fail together, in an object; like Go's errgroup.
//
//     weft::task_group fetches;
//     fetches.limit(16);
//     for (const std::string& url : urls) fetches.go([&, url] { store(fetch(url)); });
//     fetches.wait();                     // throws the first exception; all have ended
//
// A weft::scope (scope.h) is a block of code. A group is an object, for tasks that are started in
// other functions than the one that waits for them. The first exception that leaves a task cancels
// all others, and wait() rethrows it when they have ended. Further exceptions go to the hook for
// unobserved exceptions (future.h), except cancelled and timed_out that result from the
// cancellation.
//
// Scopes and deadlines around the place where the group is made apply to its tasks. So destroy it
// there: make it a local variable, or a member of an object that is one. The destructor cancels
// what still runs, and waits for it.
//
// Threads: any thread may start tasks and cancel; wait() is called once, when no other thread
//          starts tasks, unless that thread is a task of the group.
// See: docs/patterns.md, docs/cancellation.md
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <weft/detail/require.h>
#include <weft/detail/source_location.h>
#include <weft/go.h>
#include <weft/scope.h>
#include <weft/semaphore.h>
#include <weft/semaphore_guard.h>

namespace weft {

class task_group {
public:
    task_group() noexcept = default;
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;

    /// Cancels all tasks and waits until they have ended. Their exceptions, if wait() was not
    /// called, are lost, except for the hook.
    ~task_group() {
        scope_.cancel();
        scope_.join();
    }

    /// At most n tasks run at a time: go() waits until one of them has ended, try_go() refuses.
    /// Throws std::invalid_argument if n is not positive, std::logic_error if there is a limit
    /// already. Call it before other threads use the group.
    void limit(std::ptrdiff_t n) {
        if (n <= 0) throw std::invalid_argument("weft: task_group::limit: the limit must be positive");
        if (places_ != nullptr) throw std::logic_error("weft: task_group::limit: the group has a limit already");
        places_ = std::make_unique<counting_semaphore<>>((std::min)(n, (counting_semaphore<>::max)()));
    }

    /// Starts f as a green thread of the group; waits for a place if there is a limit. The wait is
    /// a cancellation point of the caller; nothing is started if it is interrupted. Throws as
    /// weft::go. In a cancelled group f is started, and its first wait throws weft::cancelled. A
    /// task that starts another one under a limit may wait for ever for itself; let it use
    /// try_go().
    template <typename F>
    void go(F&& f, source_location where = source_location::current()) {
        start({}, std::forward<F>(f), wait_for_place(), where);
    }

    template <typename F>
    void go(const spawn_options& options, F&& f, source_location where = source_location::current()) {
        start(options, std::forward<F>(f), wait_for_place(), where);
    }

    /// As go(), but returns false, with nothing started, if that would exceed the limit.
    template <typename F>
    [[nodiscard]] bool try_go(F&& f, source_location where = source_location::current()) {
        if (places_ == nullptr) {
            start({}, std::forward<F>(f), {}, where);
            return true;
        }
        place mine(*places_, std::try_to_lock);
        if (!mine) return false;
        start({}, std::forward<F>(f), std::move(mine), where);
        return true;
    }

    /// Waits until all tasks have ended, and throws the first exception of one. This is a join: it
    /// is not interrupted, but a cancellation around the group reaches the tasks. After cancel() it
    /// does not throw weft::cancelled.
    void wait() {
        scope_.join();
        scope_.rethrow_first();
    }

    /// Cancels all tasks, and those that start later. Any thread.
    void cancel() noexcept { scope_.cancel(); }

    /// Whether the group is cancelled, by cancel(), an exception or from outside, or a deadline
    /// around it has passed.
    [[nodiscard]] bool cancelled() noexcept { return scope_.cancelled(); }

    /// Number of exceptions besides the one that wait() throws.
    [[nodiscard]] std::size_t further_exceptions() noexcept { return scope_.further_exceptions(); }

private:
    using place = semaphore_guard<counting_semaphore<>>;

    // Empty without a limit.
    [[nodiscard]] place wait_for_place() { return places_ == nullptr ? place() : place(*places_); }

    template <typename F>
    void start(const spawn_options& options, F&& f, place mine, source_location where) {
        scope_.go(
            options,
            // The place is given back after what f owns is destroyed: members of a closure are
            // destroyed in reverse order.
            [held = std::move(mine), body = std::decay_t<F>(std::forward<F>(f))]() mutable { body(); }, where);
    }

    task_scope scope_;
    std::unique_ptr<counting_semaphore<>> places_;  // under the limit, if there is one
};

}  // namespace weft
