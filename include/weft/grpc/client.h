// client.h: calls of gRPC that block only the green thread.
//
//     echo::Stub stub(channel);
//     reply r = weft::grpc::call(stub, &echo::Stub::async::say, request);
//
//     auto news = weft::grpc::read_stream(stub, &echo::Stub::async::list, context, request);
//     while (std::optional<reply> m = news->read()) use(*m);
//
// A layer of templates over the generated stubs, whose member async() has the callback API. The
// callbacks run on threads of gRPC, which must not be blocked. They only set an event (see
// detail/operation.h). Two designs were rejected. Completion queues need threads of their own that
// wait in Next(), and a tag with its lifetime for each operation. A code generator is not needed:
// the type of a generated method tells the kind of call and the types of messages.
//
// A stream has one outstanding operation in each direction, because read() and write() wait for
// theirs. So a slow reader makes the writer wait, through the flow control of HTTP/2.
//
// Protocol of a stream: no operation may start after gRPC has reported the end of the call. A hold,
// taken before the call starts, delays that report. Every operation starts under lock_, and only
// with the hold. end() removes the hold under lock_. OnDone comes when all operations are complete.
//
// Deadlines and cancellation of the caller's context (cancel.h) end the call. The deadline also
// goes to the server.
//
// Threads: any, green or plain.
// See:     docs/grpc.md
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <weft/cancel.h>
#include <weft/detail/require.h>
#include <weft/event.h>
#include <weft/grpc/detail/operation.h>
#include <weft/grpc/error.h>
#include <weft/mutex.h>

namespace weft::grpc {

namespace detail {

// Gives the call the deadline of the caller's context, if that is earlier than its own. Returns
// that deadline; never: the call has its own one, or none.
[[nodiscard]] inline int64_t set_deadline(::grpc::ClientContext& context) {
    const weft::detail::cancel_context here(weft::detail::enclosing_context(), weft::detail::never);
    if (here.deadline_ns() == weft::detail::never) return weft::detail::never;
    const std::chrono::nanoseconds left(here.deadline_ns() - weft::detail::now_ns());
    const gpr_timespec at = gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
    const gpr_timespec own = gpr_convert_clock_type(context.raw_deadline(), GPR_CLOCK_REALTIME);
    if (gpr_time_cmp(at, own) >= 0) return weft::detail::never;
    context.set_deadline(at);
    return here.deadline_ns();
}

class unary_call final : public ::grpc::ClientUnaryReactor {
public:
    // gRPC does not use the object after this.
    void OnDone(const ::grpc::Status& s) override {
        status = s;
        done.set();
    }

    ::grpc::Status status;
    weft::event done;
};

// What the three kinds of stream share.
template <typename Reactor>
class client_stream : public Reactor {
public:
    explicit client_stream(::grpc::ClientContext& context) noexcept : context_(context) {}

    // deadline_ns: that of set_deadline().
    void start(int64_t deadline_ns) {
        deadline_ns_ = deadline_ns;
        this->AddHold();
        this->StartCall();
    }

    void cancel() { context_.TryCancel(); }

    // Starts an operation and waits for it. Returns false if it fails, or the call has ended.
    template <typename Start>
    bool operate(operation& o, Start start) {
        {
            const std::lock_guard lock(lock_);
            if (!has_hold_) return false;
            o.begin();
            start();
        }
        return o.wait([this] { cancel(); });
    }

    // Waits for the status. Throws unless it is OK.
    void end_or_throw() { throw_unless_ok(end(), deadline_ns_); }

    // Waits for the status.
    const ::grpc::Status& end() {
        {
            const std::lock_guard lock(lock_);
            if (std::exchange(has_hold_, false)) this->RemoveHold();
        }
        wait_or_cancel(done_, [this] { cancel(); });
        return status_;
    }

    void cancel_and_end() {
        if (done_.is_set()) return;
        cancel();
        weft::shield([this] { end(); });
    }

    void OnDone(const ::grpc::Status& s) override {
        status_ = s;
        done_.set();
    }

private:
    ::grpc::ClientContext& context_;
    int64_t deadline_ns_ = weft::detail::never;  // written before the call starts
    weft::mutex lock_;
    bool has_hold_ = true;   // guarded by lock_
    ::grpc::Status status_;  // written before done_ is set
    weft::event done_;
};

}  // namespace detail

/// A stream of messages from the server. The context must outlive it.
template <typename Response>
class client_reader {
public:
    client_reader(const client_reader&) = delete;
    client_reader& operator=(const client_reader&) = delete;

    /// Cancels the call if it has not ended, and waits until gRPC has released it.
    ~client_reader() { core_.cancel_and_end(); }

    /// Waits for the next message. nullopt: the call has ended with OK. Throws rpc_error,
    /// weft::cancelled, weft::timed_out; an interrupted read cancels the call. std::logic_error if
    /// another thread is in read().
    [[nodiscard]] std::optional<Response> read() {
        Response message;
        if (core_.operate(core_.reading, [&] { core_.StartRead(&message); })) return message;
        core_.end_or_throw();
        return std::nullopt;
    }

    /// Cancels the call; waits end. Any thread.
    void cancel() { core_.cancel(); }

private:
    template <typename Stub, typename Async, typename Q, typename R>
    friend std::unique_ptr<client_reader<R>> read_stream(Stub& stub,
                                                         void (Async::*method)(::grpc::ClientContext*,
                                                                               const Q*,
                                                                               ::grpc::ClientReadReactor<R>*),
                                                         ::grpc::ClientContext& context,
                                                         const Q& request);

    explicit client_reader(::grpc::ClientContext& context) : core_(context) {}

    struct core final : detail::client_stream<::grpc::ClientReadReactor<Response>> {
        using detail::client_stream<::grpc::ClientReadReactor<Response>>::client_stream;

        void OnReadDone(bool ok) override { reading.complete(ok); }

        detail::operation reading{"read"};
    };

    core core_;
};

/// A stream of messages to the server, which answers with one. The context must outlive it.
template <typename Request, typename Response>
class client_writer {
public:
    client_writer(const client_writer&) = delete;
    client_writer& operator=(const client_writer&) = delete;

    /// Cancels the call if it has not ended, and waits until gRPC has released it.
    ~client_writer() { core_.cancel_and_end(); }

    /// Sends a message; waits while the server does not read. false: the call has ended, and
    /// finish() tells why. Throws weft::cancelled, weft::timed_out; an interrupted write cancels
    /// the call. std::logic_error if another thread is in write().
    [[nodiscard]] bool write(const Request& message) {
        return core_.operate(core_.writing, [&] { core_.StartWrite(&message); });
    }

    /// Ends the stream and waits for the answer. Throws as client_reader::read().
    [[nodiscard]] Response finish() {
        core_.operate(core_.writing, [&] { core_.StartWritesDone(); });
        core_.end_or_throw();
        return std::move(core_.response);
    }

    /// Cancels the call; waits end. Any thread.
    void cancel() { core_.cancel(); }

private:
    template <typename Stub, typename Async, typename Q, typename R>
    friend std::unique_ptr<client_writer<Q, R>> write_stream(Stub& stub,
                                                             void (Async::*method)(::grpc::ClientContext*,
                                                                                   R*,
                                                                                   ::grpc::ClientWriteReactor<Q>*),
                                                             ::grpc::ClientContext& context);

    explicit client_writer(::grpc::ClientContext& context) : core_(context) {}

    struct core final : detail::client_stream<::grpc::ClientWriteReactor<Request>> {
        using detail::client_stream<::grpc::ClientWriteReactor<Request>>::client_stream;

        void OnWriteDone(bool ok) override { writing.complete(ok); }

        void OnWritesDoneDone(bool ok) override { writing.complete(ok); }

        detail::operation writing{"write"};
        Response response;
    };

    core core_;
};

/// Messages in both directions: one thread may read while another one writes. The context must
/// outlive it.
template <typename Request, typename Response>
class client_reader_writer {
public:
    client_reader_writer(const client_reader_writer&) = delete;
    client_reader_writer& operator=(const client_reader_writer&) = delete;

    /// Cancels the call if it has not ended, and waits until gRPC has released it.
    ~client_reader_writer() { core_.cancel_and_end(); }

    /// As client_reader::read().
    [[nodiscard]] std::optional<Response> read() {
        Response message;
        if (core_.operate(core_.reading, [&] { core_.StartRead(&message); })) return message;
        core_.end_or_throw();
        return std::nullopt;
    }

    /// As client_writer::write(). If it is false, read() tells why.
    [[nodiscard]] bool write(const Request& message) {
        return core_.operate(core_.writing, [&] { core_.StartWrite(&message); });
    }

    /// No more writes follow: the server's reads end. Throws weft::cancelled, weft::timed_out.
    void writes_done() {
        core_.operate(core_.writing, [&] { core_.StartWritesDone(); });
    }

    /// Cancels the call; waits end. Any thread.
    void cancel() { core_.cancel(); }

private:
    template <typename Stub, typename Async, typename Q, typename R>
    friend std::unique_ptr<client_reader_writer<Q, R>> stream(Stub& stub,
                                                              void (Async::*method)(::grpc::ClientContext*,
                                                                                    ::grpc::ClientBidiReactor<Q, R>*),
                                                              ::grpc::ClientContext& context);

    explicit client_reader_writer(::grpc::ClientContext& context) : core_(context) {}

    struct core final : detail::client_stream<::grpc::ClientBidiReactor<Request, Response>> {
        using detail::client_stream<::grpc::ClientBidiReactor<Request, Response>>::client_stream;

        void OnReadDone(bool ok) override { reading.complete(ok); }

        void OnWriteDone(bool ok) override { writing.complete(ok); }

        void OnWritesDoneDone(bool ok) override { writing.complete(ok); }

        detail::operation reading{"read"};
        detail::operation writing{"write"};
    };

    core core_;
};

/// Calls a method with one message each way. context has metadata, credentials and options of the
/// call, and afterwards the server's metadata; use it for one call. Throws rpc_error,
/// weft::cancelled, weft::timed_out; an interrupted caller cancels the call.
template <typename Stub, typename Async, typename Request, typename Response>
[[nodiscard]] Response call(
    Stub& stub,
    void (Async::*method)(::grpc::ClientContext*, const Request*, Response*, ::grpc::ClientUnaryReactor*),
    ::grpc::ClientContext& context,
    const Request& request) {
    weft::throw_if_cancelled();
    const int64_t deadline_ns = detail::set_deadline(context);
    Response response;
    detail::unary_call c;
    (stub.async()->*method)(&context, &request, &response, &c);
    c.StartCall();
    detail::wait_or_cancel(c.done, [&] { context.TryCancel(); });
    detail::throw_unless_ok(c.status, deadline_ns);
    return response;
}

/// The same with a context of its own.
template <typename Stub, typename Async, typename Request, typename Response>
[[nodiscard]] Response call(
    Stub& stub,
    void (Async::*method)(::grpc::ClientContext*, const Request*, Response*, ::grpc::ClientUnaryReactor*),
    const Request& request) {
    ::grpc::ClientContext context;
    return grpc::call(stub, method, context, request);
}

/// Calls a method that answers with a stream. Throws weft::cancelled, weft::timed_out.
template <typename Stub, typename Async, typename Q, typename R>
[[nodiscard]] std::unique_ptr<client_reader<R>> read_stream(Stub& stub,
                                                            void (Async::*method)(::grpc::ClientContext*,
                                                                                  const Q*,
                                                                                  ::grpc::ClientReadReactor<R>*),
                                                            ::grpc::ClientContext& context,
                                                            const Q& request) {
    weft::throw_if_cancelled();
    const int64_t deadline_ns = detail::set_deadline(context);
    auto made = new client_reader<R>(context);
    (stub.async()->*method)(&context, &request, &made->core_);
    made->core_.start(deadline_ns);
    return std::unique_ptr<client_reader<R>>(made);
}

/// Calls a method that takes a stream. Throws weft::cancelled, weft::timed_out.
template <typename Stub, typename Async, typename Q, typename R>
[[nodiscard]] std::unique_ptr<client_writer<Q, R>> write_stream(Stub& stub,
                                                                void (Async::*method)(::grpc::ClientContext*,
                                                                                      R*,
                                                                                      ::grpc::ClientWriteReactor<Q>*),
                                                                ::grpc::ClientContext& context) {
    weft::throw_if_cancelled();
    const int64_t deadline_ns = detail::set_deadline(context);
    auto made = new client_writer<Q, R>(context);
    (stub.async()->*method)(&context, &made->core_.response, &made->core_);
    made->core_.start(deadline_ns);
    return std::unique_ptr<client_writer<Q, R>>(made);
}

/// Calls a method with streams in both directions. Throws weft::cancelled, weft::timed_out.
template <typename Stub, typename Async, typename Q, typename R>
[[nodiscard]] std::unique_ptr<client_reader_writer<Q, R>> stream(
    Stub& stub,
    void (Async::*method)(::grpc::ClientContext*, ::grpc::ClientBidiReactor<Q, R>*),
    ::grpc::ClientContext& context) {
    weft::throw_if_cancelled();
    const int64_t deadline_ns = detail::set_deadline(context);
    auto made = new client_reader_writer<Q, R>(context);
    (stub.async()->*method)(&context, &made->core_);
    made->core_.start(deadline_ns);
    return std::unique_ptr<client_reader_writer<Q, R>>(made);
}

}  // namespace weft::grpc
