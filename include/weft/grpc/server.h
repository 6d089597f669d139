// server.h: methods of a gRPC service as functions in green threads, which may block.
//
//     class greeter final : public echo::CallbackService {
//         ::grpc::ServerUnaryReactor* say(::grpc::CallbackServerContext* c, const request* q, reply* r) override {
//             return weft::grpc::unary(calls_, c, [q, r] { r->set_text(look_up(q->text())); });
//         }
//         …
//     weft::grpc::handlers calls;
//     weft::grpc::server s(builder, calls);
//
// The problem: gRPC's callback API has few threads, and a method that blocks one stops other calls;
// the synchronous API takes an OS thread for each call that waits. Here the generated callback
// method only starts a green thread and returns. The green thread calls Finish when the function
// has ended. Rejected: completion queues and a code generator; client.h says why. The price is one
// line for each method.
//
// The function runs in a cancellation context (cancel.h) with the call's deadline, which is
// cancelled when the client cancels or disappears. Its result or exception is the status: void or a
// ::grpc::Status; rpc_error, its status; weft::cancelled, CANCELLED; weft::timed_out,
// DEADLINE_EXCEEDED; std::bad_alloc, RESOURCE_EXHAUSTED; anything else, UNKNOWN without its text,
// which may be confidential.
//
// Lifetime: gRPC keeps the reactor, the messages and the context until Finish. The green thread
// does not use them afterwards. OnDone deletes the reactor.
//
// See: docs/grpc.md
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <weft/blocking.h>
#include <weft/cancel.h>
#include <weft/detail/require.h>
#include <weft/go.h>
#include <weft/grpc/detail/operation.h>
#include <weft/grpc/error.h>
#include <weft/runtime.h>
#include <weft/wait_group.h>

namespace weft::grpc {

struct handlers_options {
    std::size_t max_calls = 10'000;    ///< that run at once; further ones end with RESOURCE_EXHAUSTED
    weft::runtime* runtime = nullptr;  ///< where the green threads run; nullptr: the default runtime
};

/// Starts, limits and counts the green threads of calls. Must outlive the server and its services.
class handlers {
public:
    /// Throws std::invalid_argument if max_calls is 0.
    explicit handlers(handlers_options how = {}) : how_(how) {
        if (how_.max_calls == 0) {
            throw std::invalid_argument("weft: grpc::handlers_options::max_calls is 0: no call could run");
        }
    }

    handlers(const handlers&) = delete;
    handlers& operator=(const handlers&) = delete;

    /// Calls that run. A snapshot.
    [[nodiscard]] std::size_t running() const noexcept { return running_.load(); }

    /// Waits until the functions of all calls have ended. Not a cancellation point.
    void wait() { all_.wait(); }

    /// Starts f() as a green thread that counts as a call. Returns false if max_calls run, or there
    /// is no memory; f was not started then. Any thread. For other kinds of methods than those of
    /// this header.
    template <typename F>
    [[nodiscard]] bool try_start(F f) noexcept {
        if (running_.fetch_add(1) >= how_.max_calls) {
            running_.fetch_sub(1);
            return false;
        }
        all_.add();
        try {
            auto body = [this, f = std::optional<F>(std::move(f))]() mutable {
                (*f)();
                f.reset();
                running_.fetch_sub(1);
                all_.done();
            };
            if (how_.runtime != nullptr) {
                how_.runtime->go(std::move(body));
            } else {
                weft::go(std::move(body));
            }
            return true;
        } catch (...) {
            running_.fetch_sub(1);
            all_.done();
            return false;
        }
    }

private:
    const handlers_options how_;
    std::atomic<std::size_t> running_ = 0;
    weft::wait_group all_;
};

namespace detail {

// Calls f and returns the status of the call.
template <typename F>
::grpc::Status status_of(F&& f) {
    using ::grpc::StatusCode;
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
            f();
            return ::grpc::Status::OK;
        } else {
            return f();
        }
    } catch (const rpc_error& e) {
        return e.status();
    } catch (const weft::cancelled&) {
        return {StatusCode::CANCELLED, "the handler was cancelled"};
    } catch (const weft::timed_out&) {
        return {StatusCode::DEADLINE_EXCEEDED, "the deadline has passed in the handler"};
    } catch (const std::bad_alloc&) {
        return {StatusCode::RESOURCE_EXHAUSTED, "the server has no memory for the call"};
    } catch (...) {
        return {StatusCode::UNKNOWN, "the handler has failed with an exception"};
    }
}

// A call: a reactor of any kind, which deletes itself.
template <typename Reactor>
class server_call : public Reactor {
public:
    explicit server_call(::grpc::CallbackServerContext& context) noexcept : context_(context) {}

    void OnCancel() override { stop_.request_stop(); }

    void OnDone() override { delete this; }

    void cancel() { context_.TryCancel(); }

    template <typename Start>
    bool operate(operation& o, Start start) {
        o.begin();
        start();
        return o.wait([this] { cancel(); });
    }

    // In a green thread: calls f with the call's deadline and cancellation, and ends the call. The
    // object may be gone then.
    template <typename F>
    void run(F& f) {
        ::grpc::Status result = status_of([&] {
            return weft::with_stop_token(stop_.get_token(), [&] {
                const auto deadline = context_.deadline();
                if (deadline == std::chrono::system_clock::time_point::max()) return f();
                return weft::with_deadline(deadline, f);
            });
        });
        this->Finish(std::move(result));
    }

private:
    ::grpc::CallbackServerContext& context_;
    std::stop_source stop_;
};

// Starts the green thread of call c.
template <typename Call, typename F>
Call* started(handlers& h, Call* c, F f) {
    if (!h.try_start([c, f = std::move(f)]() mutable { c->run(f); })) {
        c->Finish({::grpc::StatusCode::RESOURCE_EXHAUSTED, "too many calls at once, or no memory"});
    }
    return c;
}

[[noreturn]] inline void throw_client_gone() {
    weft::throw_if_cancelled();
    throw rpc_error(::grpc::StatusCode::CANCELLED, "the client has cancelled the call, or is gone");
}

template <typename Response>
struct writer_call final : server_call<::grpc::ServerWriteReactor<Response>> {
    using server_call<::grpc::ServerWriteReactor<Response>>::server_call;

    void OnWriteDone(bool ok) override { writing.complete(ok); }

    operation writing{"write"};
};

template <typename Request>
struct reader_call final : server_call<::grpc::ServerReadReactor<Request>> {
    using server_call<::grpc::ServerReadReactor<Request>>::server_call;

    void OnReadDone(bool ok) override { reading.complete(ok); }

    operation reading{"read"};
};

template <typename Request, typename Response>
struct bidi_call final : server_call<::grpc::ServerBidiReactor<Request, Response>> {
    using server_call<::grpc::ServerBidiReactor<Request, Response>>::server_call;

    void OnReadDone(bool ok) override { reading.complete(ok); }

    void OnWriteDone(bool ok) override { writing.complete(ok); }

    operation reading{"read"};
    operation writing{"write"};
};

}  // namespace detail

/// What a handler writes to; valid until the handler returns. One thread at a time.
template <typename Response, typename Call = detail::writer_call<Response>>
class server_writer {
public:
    explicit server_writer(Call& c) noexcept : call_(c) {}

    /// Sends a message; waits while the client does not read. Throws weft::cancelled,
    /// weft::timed_out, and rpc_error with CANCELLED if the client is gone. An interrupted write
    /// cancels the call.
    void write(const Response& message) {
        if (!call_.operate(call_.writing, [&] { call_.StartWrite(&message); })) detail::throw_client_gone();
    }

private:
    Call& call_;
};

/// What a handler reads from; valid until the handler returns. One thread at a time.
template <typename Request, typename Call = detail::reader_call<Request>>
class server_reader {
public:
    explicit server_reader(Call& c) noexcept : call_(c) {}

    /// Waits for the next message. nullopt: the client sends no more. Throws weft::cancelled,
    /// weft::timed_out; an interrupted read cancels the call.
    [[nodiscard]] std::optional<Request> read() {
        Request message;
        if (call_.operate(call_.reading, [&] { call_.StartRead(&message); })) return message;
        weft::throw_if_cancelled();
        return std::nullopt;
    }

private:
    Call& call_;
};

/// Both; one thread may read while another one writes.
template <typename Request, typename Response>
class server_stream : public server_reader<Request, detail::bidi_call<Request, Response>>,
                      public server_writer<Response, detail::bidi_call<Request, Response>> {
public:
    explicit server_stream(detail::bidi_call<Request, Response>& c) noexcept
        : server_reader<Request, detail::bidi_call<Request, Response>>(c),
          server_writer<Response, detail::bidi_call<Request, Response>>(c) {}
};

/// For the four kinds of methods: each starts f in a green thread and returns at once. The
/// generated method returns the result. f returns void or ::grpc::Status; what it refers to must
/// live until it returns, as the messages and the context do. The f of unary() has no arguments.
/// The others pass a server_writer&, a server_reader& or a server_stream&. Throws std::bad_alloc.
template <typename F>
[[nodiscard]] ::grpc::ServerUnaryReactor* unary(handlers& h, ::grpc::CallbackServerContext* context, F f) {
    return detail::started(h, new detail::server_call<::grpc::ServerUnaryReactor>(*context), std::move(f));
}

template <typename Response, typename F>
[[nodiscard]] ::grpc::ServerWriteReactor<Response>* write_stream(handlers& h,
                                                                 ::grpc::CallbackServerContext* context,
                                                                 F f) {
    auto* const c = new detail::writer_call<Response>(*context);
    return detail::started(h, c, [c, f = std::move(f)]() mutable {
        server_writer<Response> to(*c);
        return f(to);
    });
}

template <typename Request, typename F>
[[nodiscard]] ::grpc::ServerReadReactor<Request>* read_stream(handlers& h,
                                                              ::grpc::CallbackServerContext* context,
                                                              F f) {
    auto* const c = new detail::reader_call<Request>(*context);
    return detail::started(h, c, [c, f = std::move(f)]() mutable {
        server_reader<Request> from(*c);
        return f(from);
    });
}

template <typename Request, typename Response, typename F>
[[nodiscard]] ::grpc::ServerBidiReactor<Request, Response>* stream(handlers& h,
                                                                   ::grpc::CallbackServerContext* context,
                                                                   F f) {
    auto* const c = new detail::bidi_call<Request, Response>(*context);
    return detail::started(h, c, [c, f = std::move(f)]() mutable {
        server_stream<Request, Response> both(*c);
        return f(both);
    });
}

/// A running server.
class server {
public:
    /// Starts the server that builder describes: addresses, credentials (also TLS), services,
    /// limits of messages. Throws std::runtime_error if it cannot listen.
    server(::grpc::ServerBuilder& builder, handlers& h) : handlers_(h) {
        weft::blocking([&] { server_ = builder.BuildAndStart(); });
        if (server_ == nullptr) {
            throw std::runtime_error(
                "weft: the gRPC server cannot start: check that its addresses are valid and free, and its "
                "services without conflict; gRPC's log has the reason");
        }
    }

    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// As shutdown(0).
    ~server() { shutdown(std::chrono::seconds(0)); }

    /// Accepts no more calls; lets those that run finish for at most grace; then cancels them, and
    /// waits until their handlers have returned. A handler that never waits delays it. Not a
    /// cancellation point. Once; later calls return at once.
    void shutdown(std::chrono::nanoseconds grace) {
        if (is_stopped_.exchange(true)) return;
        weft::blocking([&] {
            server_->Shutdown(
                gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_nanos(grace.count(), GPR_TIMESPAN)));
        });
        handlers_.wait();
    }

private:
    handlers& handlers_;
    std::atomic<bool> is_stopped_ = false;
    std::unique_ptr<::grpc::Server> server_;
};

}  // namespace weft::grpc
