// executor.h: the runtime as an executor of Boost.Asio: each handler runs as a green thread of its own.
//
//   weft::asio::context here;                                          // the handlers run on the default runtime
//   boost::asio::steady_timer timer(here.get_executor(), 1s);
//   timer.async_wait([](auto ec) { /* a green thread: it may wait */ });
//   boost::asio::co_spawn(here.get_executor(), session(), boost::asio::detached);
//
// Handlers may wait for whatever they like, unlike those that an io_context runs. Two of them may run at the same time, so what is not
// made for that wants a strand (strand.h), as with a pool of threads. An exception that leaves a handler ends the process, as that of
// any green thread.
//
// Asio waits for sockets and timers of its own with a thread, which it starts for each context with the first of them.
//
// Who: any thread.
// See: docs/asio.md
#pragma once

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <type_traits>
#include <utility>

#include <weft/detail/require.h>
#include <weft/go.h>
#include <weft/runtime.h>

namespace weft::asio {

class executor;

// What sockets and timers of Asio belong to. It must live longer than they do; what they wait for when it goes is abandoned, and the handlers
// are destroyed. Handlers that run then go on.
class context : public boost::asio::execution_context {
public:
    using executor_type = executor;

    // Handlers run on the runtime of who starts them, or the default one.
    context() = default;

    // Handlers run on this runtime, which must live longer. After it has been stopped they are destroyed.
    explicit context(runtime& on) noexcept : on_(&on) {}

    ~context() {
        shutdown();
        destroy();
    }

    context(const context&) = delete;
    context& operator=(const context&) = delete;

    [[nodiscard]] inline executor get_executor() noexcept;

private:
    friend class executor;

    runtime* const on_ = nullptr;
};

class executor {
public:
    // Of context.
    explicit executor(context& of) noexcept : context_(&of) {}

    // Starts f as a green thread. Throws what weft::go throws.
    template <typename F>
    void execute(F&& f) const {
        auto handler = [body = std::decay_t<F>(std::forward<F>(f))]() mutable { std::move(body)(); };
        if (context_->on_ == nullptr) {
            go(std::move(handler));
        } else {
            static_cast<void>(context_->on_->try_go(std::move(handler)));
        }
    }

    [[nodiscard]] context& query(boost::asio::execution::context_t /*what*/) const noexcept { return *context_; }

    // It never runs a handler inside of execute().
    [[nodiscard]] static constexpr boost::asio::execution::blocking_t query(
        boost::asio::execution::blocking_t /*what*/) noexcept {
        return boost::asio::execution::blocking.never;
    }

    [[nodiscard]] friend bool operator==(const executor& a, const executor& b) noexcept {
        return a.context_ == b.context_;
    }

    [[nodiscard]] friend bool operator!=(const executor& a, const executor& b) noexcept {
        return a.context_ != b.context_;
    }

private:
    context* context_;
};

executor context::get_executor() noexcept { return executor(*this); }

}  // namespace weft::asio
