// use_weft.h: a completion token that makes asynchronous Asio operations return their results.
//
//   std::size_t n = socket.async_read_some(buffer, weft::asio::use_weft);                // throws boost::system::system_error
//   boost::system::error_code ec;
//   std::size_t n = socket.async_read_some(buffer, weft::asio::use_weft[ec]);           // or reports
//
// Only the calling green thread waits; a plain thread blocks. So every library built on Asio
// (databases, brokers, HTTP) can be used in straight-line code. The call returns nothing, the value
// that the operation passes to its handler after the error code, or a std::tuple of several values.
//
// Another thread must complete the operation: one that runs the io_context, or Asio's own with the
// executor of executor.h. Inside a handler that an io_context runs, the call would wait for its own
// thread.
//
// Cancellation. The wait is a cancellation point. An interrupted caller cancels the operation
// through Asio's cancellation slot, and returns when the operation has ended, because it uses the
// caller's memory until then. If the operation has completed anyway, its result counts. If not,
// weft::cancelled or weft::timed_out is thrown (reported as operation_aborted and timed_out). The
// slot is used on the operation's executor, so an io_context that several threads run needs a
// strand, as always. Operations without an associated executor, and those that cannot be cancelled,
// are waited for.
//
// If the io_context of an operation is destroyed, the operation fails with operation_aborted.
//
// Protocol. The frame holds the result and a semaphore that counts users that are done with the
// frame: the handler and, after a cancellation, the canceller. A handler destroyed without a call
// counts too, so the wait always ends. No user touches a dead frame: its last access is the release
// of the semaphore, which may be destroyed at that moment.
//
// See: docs/asio.md
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <weft/cancel.h>
#include <weft/detail/require.h>
#include <weft/error.h>
#include <weft/mutex.h>
#include <weft/semaphore.h>

namespace weft::asio {

/// The completion token, described above. A value: copy it.
class use_weft_t {
public:
    constexpr use_weft_t() noexcept = default;

    /// Returns a token that stores the operation's first error code in ec instead of throwing it.
    [[nodiscard]] constexpr use_weft_t operator[](boost::system::error_code& ec) const noexcept {
        use_weft_t other;
        other.error_ = &ec;
        return other;
    }

    [[nodiscard]] constexpr boost::system::error_code* error() const noexcept { return error_; }

private:
    boost::system::error_code* error_ = nullptr;
};

inline constexpr use_weft_t use_weft;

namespace detail {

// A user of the waiting caller's frame. Done when it calls is_done() or is destroyed.
class user_of_frame {
public:
    explicit user_of_frame(counting_semaphore<>& done) noexcept : done_(&done) {}

    user_of_frame(user_of_frame&& other) noexcept : done_(std::exchange(other.done_, nullptr)) {}

    user_of_frame& operator=(user_of_frame&&) = delete;

    ~user_of_frame() { is_done(); }

    void is_done() noexcept {
        if (counting_semaphore<>* done = std::exchange(done_, nullptr)) done->release();
    }

private:
    counting_semaphore<>* done_;
};

// The state in the waiting caller's frame.
template <typename... Args>
struct operation {
    counting_semaphore<> done{0};
    std::optional<std::tuple<Args...>> result;  // written by the handler, before it releases done
    boost::asio::cancellation_signal cancel;
};

template <typename... Args>
class completion_handler {
public:
    using cancellation_slot_type = boost::asio::cancellation_slot;

    explicit completion_handler(operation<Args...>& of) noexcept : operation_(&of), user_(of.done) {}

    template <typename... Given>
    void operator()(Given&&... given) {
        operation_->result.emplace(std::forward<Given>(given)...);
        user_.is_done();
    }

    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept { return operation_->cancel.slot(); }

private:
    operation<Args...>* operation_;
    user_of_frame user_;
};

// Why a wait was interrupted.
enum class interruption { none, cancelled, timed_out };

inline interruption wait_for(counting_semaphore<>& done) {
    try {
        done.acquire();
    } catch (const cancelled&) {
        return interruption::cancelled;
    } catch (const timed_out&) {
        return interruption::timed_out;
    }
    return interruption::none;
}

inline void wait_uninterrupted(counting_semaphore<>& done) {
    shield([&] { done.acquire(); });
}

// Cancels an operation on its executor, if the operation still exists by then. Outlives it, because
// the executor may no longer be run once the operation has ended.
template <typename... Args>
class canceller {
public:
    explicit canceller(operation<Args...>& of) noexcept : of_(&of) {}

    void cancel() {
        const std::lock_guard held(lock_);
        if (of_ != nullptr) of_->cancel.emit(boost::asio::cancellation_type::terminal);
    }

    void forget() {
        const std::lock_guard held(lock_);
        of_ = nullptr;
    }

private:
    mutex lock_;
    operation<Args...>* of_;
};

// Cancels the operation and returns when it has ended.
template <typename Executor, typename... Args>
void cancel_on(const Executor& executor, operation<Args...>& of) {
    std::shared_ptr<canceller<Args...>> by;
    try {
        by = std::make_shared<canceller<Args...>>(of);
        boost::asio::post(executor, [by] { by->cancel(); });
    } catch (...) {  // NOLINT(bugprone-empty-catch): no memory, or no room: it ends when it ends
    }
    wait_uninterrupted(of.done);
    if (by != nullptr) shield([&] { by->forget(); });
}

// Reports the error of a failed operation, or throws it.
inline void fail(const use_weft_t& how, interruption why, const boost::system::error_code& ec) {
    const bool is_ours = why != interruption::none && ec == boost::asio::error::operation_aborted;
    if (how.error() != nullptr) {
        *how.error() = is_ours && why == interruption::timed_out ? boost::asio::error::timed_out : ec;
    } else {
        if (is_ours && why == interruption::cancelled) throw cancelled();
        if (is_ours) throw timed_out();
        throw boost::system::system_error(ec);
    }
}

inline bool has_failed(const use_weft_t& how, interruption why, const boost::system::error_code& ec) {
    if (ec) fail(how, why, ec);
    return static_cast<bool>(ec);
}

inline bool has_failed(const use_weft_t& /*how*/, interruption /*why*/, const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
    return false;
}

// The return values for a handler with these arguments. An error code or exception comes first, if
// there is one.
template <typename... Args>
struct results_of {
    static constexpr bool has_error = false;
    using values = std::tuple<Args...>;
};

template <typename... Args>
struct results_of<boost::system::error_code, Args...> {
    static constexpr bool has_error = true;
    using values = std::tuple<Args...>;
};

template <typename... Args>
struct results_of<std::exception_ptr, Args...> {
    static constexpr bool has_error = true;
    using values = std::tuple<Args...>;
};

template <typename Values>
struct returned {
    using type = Values;
};

template <>
struct returned<std::tuple<>> {
    using type = void;
};

template <typename One>
struct returned<std::tuple<One>> {
    using type = One;
};

template <typename... Args>
using returned_by = typename returned<typename results_of<Args...>::values>::type;

// The result's values in the form in which they are returned. After a reported error: the values
// that the operation has passed.
template <typename... Args>
returned_by<Args...> take(std::tuple<Args...>& result) {
    using results = results_of<Args...>;
    constexpr std::size_t skipped = results::has_error ? 1 : 0;
    return [&]<std::size_t... I>(std::index_sequence<I...>) -> returned_by<Args...> {
        return returned_by<Args...>(std::get<I + skipped>(std::move(result))...);
    }(std::make_index_sequence<sizeof...(Args) - skipped>());
}

}  // namespace detail

}  // namespace weft::asio

template <typename R, typename... Given>
class boost::asio::async_result<weft::asio::use_weft_t, R(Given...)> {
    template <typename... Args>
    using operation = weft::asio::detail::operation<Args...>;

public:
    using return_type = weft::asio::detail::returned_by<std::decay_t<Given>...>;

    // The return type is not deduced: otherwise the body would be compiled even where Asio only
    // checks whether it may call this.
    template <typename Initiation, typename... InitArgs>
    static return_type initiate(Initiation&& initiation, weft::asio::use_weft_t how, InitArgs&&... args) {
        namespace detail = weft::asio::detail;
        operation<std::decay_t<Given>...> mine;
        if (how.error() != nullptr) how.error()->clear();

        // Gets the executor first, because the call below may move the initiation away.
        const auto cancel = [&, executor = executor_of(initiation)] {
            if constexpr (std::is_same_v<std::remove_const_t<decltype(executor)>, nowhere>) {
                detail::wait_uninterrupted(mine.done);
            } else {
                detail::cancel_on(executor, mine);
            }
        };
        std::forward<Initiation>(initiation)(detail::completion_handler<std::decay_t<Given>...>(mine),
                                             std::forward<InitArgs>(args)...);

        const detail::interruption why = detail::wait_for(mine.done);
        if (why != detail::interruption::none) cancel();
        if (!mine.result) return given_up(how, why);
        if constexpr (detail::results_of<std::decay_t<Given>...>::has_error) {
            static_cast<void>(detail::has_failed(how, why, std::get<0>(*mine.result)));
        }
        return detail::take(*mine.result);
    }

private:
    struct nowhere {};

    template <typename Initiation>
    static auto executor_of(const Initiation& initiation) {
        if constexpr (requires { initiation.get_executor(); }) {
            return initiation.get_executor();
        } else {
            return nowhere{};
        }
    }

    static return_type given_up(const weft::asio::use_weft_t& how, weft::asio::detail::interruption why) {
        const boost::system::error_code ec = boost::asio::error::operation_aborted;
        if constexpr (std::is_void_v<return_type> || std::is_default_constructible_v<return_type>) {
            weft::asio::detail::fail(how, why, ec);
            return return_type();
        } else {
            throw boost::system::system_error(ec);  // there is no value to return
        }
    }
};
