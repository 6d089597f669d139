// strand.h: an executor whose handlers run one after the other, as green threads do: they may wait.
//
//   weft::asio::strand one_at_a_time(here.get_executor());
//   boost::asio::co_spawn(one_at_a_time, session(), boost::asio::detached);
//
// The problem. boost::asio::strand keeps a list, for each OS thread, of the strands whose handlers that thread runs just now, and its nodes lie
// on the handler's stack. A green thread that waits in such a handler may come back on another OS thread, and leaves the first one
// with a node that is no more. So on green threads that strand is for handlers that do not wait; this one has no such list.
//
// A strand is a queue and, while there is something in it, one green thread that runs what it finds there. A handler that waits holds up
// those behind it, and nobody else. They begin in the order in which they came.
//
// Copies are the same strand. Handlers that have not run when the runtime has been stopped are destroyed.
//
// Who: any thread. See: docs/asio.md
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

    // Puts f into the queue. Throws std::bad_alloc, and what weft::go throws.
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
        // True: nobody runs them, and the caller has to see to it.
        [[nodiscard]] bool push(std::unique_ptr<handler> h) {
            const std::lock_guard guard(lock_);
            waiting_.push_back(std::move(h));
            return !std::exchange(runs_, true);
        }

        // The next one; nullptr: there is none, and the caller does not run them any more.
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
        bool runs_ = false;                             // guarded by lock_: somebody runs them
    };

    // Who runs them, until there are none. Gone without having run, it destroys them.
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
