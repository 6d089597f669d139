// executor.h: the runtime as an executor of Boost.Asio: each handler runs as its own green thread.
//
//   weft::asio::context here;                                          // the handlers run on the default runtime
//   boost::asio::steady_timer timer(here.get_executor(), 1s);
//   timer.async_wait([](auto ec) { /* a green thread: it may wait */ });
//   boost::asio::co_spawn(here.get_executor(), session(), boost::asio::detached);
//
// Handlers may wait, unlike those of an io_context. Two handlers may run at the same time, so code
// that is not made for that needs a strand (strand.h), as with a thread pool. An exception that
// leaves a handler ends the process, as in any green thread.
//
// Asio waits for its own sockets and timers with a thread. It starts one per context, with the
// first of them.
//
// Threads: any thread.
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

/// The context of Asio's sockets and timers. It must outlive them. Its destructor abandons what
/// they wait for and destroys those handlers. Handlers that already run continue.
class context : public boost::asio::execution_context {
public:
    using executor_type = executor;

    /// Handlers run on the runtime of the caller that starts them, or the default one.
    context() = default;

    /// Handlers run on this runtime, which must outlive the context. They are destroyed after it
    /// has been stopped.
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
    /// The executor of context.
    explicit executor(context& of) noexcept : context_(&of) {}

    /// Starts f as a green thread. Throws what weft::go throws.
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

    /// execute() never runs a handler inline.
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
