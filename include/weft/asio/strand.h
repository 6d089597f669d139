// strand.h: an executor whose handlers run one after the other, as green threads, and may wait.
//
//   weft::asio::strand one_at_a_time(here.get_executor());
//   boost::asio::co_spawn(one_at_a_time, session(), boost::asio::detached);
//
// Problem. boost::asio::strand keeps a list, per OS thread, of the strands whose handlers that
// thread runs, with nodes on the handler's stack. A green thread that waits in such a handler may
// resume on another OS thread and leave a dangling node on the first. So on green threads
// boost::asio::strand suits only handlers that do not wait. This strand has no such list.
//
// A strand is a queue and, while it is not empty, one green thread that runs its handlers. A
// handler that waits delays only those behind it. Handlers begin in the order in which they were
// queued.
//
// Copies refer to the same strand. Handlers that have not run when the runtime has been stopped are
// destroyed.
//
// Threads: any thread. See: docs/asio.md
#pragma once

#include <boost/asio/execution.hpp>
#include <deque>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include <weft/asio/executor.h>
#include <weft/detail/require.h>
#include <weft/mutex.h>

namespace weft::asio {

class strand {
public:
    explicit strand(executor on) : on_(on), state_(std::make_shared<state>()) {}

    /// Queues f. Throws std::bad_alloc, and what weft::go throws.
    template <typename F>
    void execute(F&& f) const {
        if (state_->push(std::make_unique<handler_of<std::decay_t<F>>>(std::forward<F>(f)))) on_.execute(turn(state_));
    }

    [[nodiscard]] context& query(boost::asio::execution::context_t what) const noexcept { return on_.query(what); }

    [[nodiscard]] static constexpr boost::asio::execution::blocking_t query(
        boost::asio::execution::blocking_t /*what*/) noexcept {
        return boost::asio::execution::blocking.never;
    }

    [[nodiscard]] friend bool operator==(const strand& a, const strand& b) noexcept { return a.state_ == b.state_; }

    [[nodiscard]] friend bool operator!=(const strand& a, const strand& b) noexcept { return a.state_ != b.state_; }

private:
    struct handler {
        virtual ~handler() = default;
        virtual void run() = 0;
    };

    template <typename F>
    struct handler_of final : handler {
        template <typename G>
        explicit handler_of(G&& g) : f(std::forward<G>(g)) {}

        void run() override { std::move(f)(); }

        F f;
    };

    class state {
    public:
        // Returns true if no green thread runs the queue; the caller must then start one.
        [[nodiscard]] bool push(std::unique_ptr<handler> h) {
            const std::lock_guard guard(lock_);
            waiting_.push_back(std::move(h));
            return !std::exchange(runs_, true);
        }

        // Returns the next handler; nullptr: the queue is empty and the caller has stopped running
        // it.
        [[nodiscard]] std::unique_ptr<handler> pop() noexcept {
            const std::lock_guard guard(lock_);
            runs_ = !waiting_.empty();
            if (!runs_) return nullptr;
            std::unique_ptr<handler> first = std::move(waiting_.front());
            waiting_.pop_front();
            return first;
        }

    private:
        mutex lock_;
        std::deque<std::unique_ptr<handler>> waiting_;  // guarded by lock_
        bool runs_ = false;                             // guarded by lock_: a green thread runs the queue
    };

    // Runs the handlers until the queue is empty. If destroyed without having run, it destroys
    // them.
    class turn {
    public:
        explicit turn(std::shared_ptr<state> of) noexcept : state_(std::move(of)) {}

        turn(turn&&) noexcept = default;
        turn& operator=(turn&&) = delete;

        ~turn() {
            while (state_ != nullptr && state_->pop() != nullptr) continue;
        }

        void operator()() {
            while (const std::unique_ptr<handler> next = state_->pop()) next->run();
            state_.reset();
        }

    private:
        std::shared_ptr<state> state_;
    };

    executor on_;
    std::shared_ptr<state> state_;
};

}  // namespace weft::asio
