// error.h: how a failed call is reported.
//
// A status other than OK is the exception rpc_error. A cancelled caller, or one whose deadline
// passes, gets weft::cancelled or weft::timed_out, as at every other wait (cancel.h).
//
// See: docs/grpc.md
#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include <weft/cancel.h>
#include <weft/detail/require.h>

namespace weft::grpc {

/// A call has ended with a status other than OK. A handler may throw it to end its call so.
class rpc_error : public std::runtime_error {
public:
    explicit rpc_error(::grpc::Status status)
        : std::runtime_error("weft: gRPC call failed with status " + std::to_string(status.error_code()) + ": " +
                             status.error_message()),
          status_(std::move(status)) {}

    rpc_error(::grpc::StatusCode code, const std::string& message) : rpc_error(::grpc::Status(code, message)) {}

    [[nodiscard]] ::grpc::StatusCode code() const noexcept { return status_.error_code(); }

    /// With the message and the details of the other side.
    [[nodiscard]] const ::grpc::Status& status() const noexcept { return status_; }

private:
    ::grpc::Status status_;
};

namespace detail {

// Throws unless s is OK. The interruption of the caller takes precedence over the status that it
// has caused. Parameter deadline_ns is the caller's deadline that the call was given, or never.
// Because gRPC's clock may be ahead, the call may end a little earlier than that.
inline void throw_unless_ok(const ::grpc::Status& s, int64_t deadline_ns) {
    if (s.ok()) return;
    if (s.error_code() == ::grpc::StatusCode::CANCELLED || s.error_code() == ::grpc::StatusCode::DEADLINE_EXCEEDED) {
        weft::throw_if_cancelled();
    }
    if (s.error_code() == ::grpc::StatusCode::DEADLINE_EXCEEDED && deadline_ns != weft::detail::never) {
        const weft::detail::cancel_context here(weft::detail::enclosing_context(), weft::detail::never);
        if (here.deadline_ns() <= deadline_ns) throw weft::timed_out();
    }
    throw rpc_error(s);
}

}  // namespace detail

}  // namespace weft::grpc
