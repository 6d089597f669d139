// error.h: what can go wrong with a NATS server.
//
// Three kinds of failure have three kinds of exception:
//
//     std::system_error with an errc   no connection, no answer
//     nats::jetstream_error            JetStream refused a request
//     weft::cancelled, timed_out       the caller was interrupted (cancel.h)
//
// See: docs/nats.md
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>

#include <weft/detail/require.h>

namespace weft::nats {

/// Why a call has failed.
enum class errc {
    could_not_connect = 1,  ///< no server of the list runs, or has accepted within connect_time
    login_refused,          ///< the user, the password, the token or the credentials are wrong
    connection_lost,        ///< while the caller waited for an answer; it is unknown whether the server has the request
    buffer_full,            ///< there is no connection, and reconnect_buffer is full
    no_responders,          ///< nothing answers to that subject
    request_timed_out,      ///< no answer after request_time; the request may have been handled
    bad_subject,            ///< the subject is empty or malformed
    too_large,              ///< the message is larger than the server accepts
    bad_answer,             ///< JetStream's answer cannot be read
    client_closed,          ///< the client was closed
    failed,                 ///< anything else; the message has the words of the library
};

/// The category of errc. request_timed_out is equivalent to std::errc::timed_out, could_not_connect
/// to std::errc::connection_refused, connection_lost to std::errc::connection_reset.
[[nodiscard]] const std::error_category& error_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

/// JetStream has refused a request.
class jetstream_error : public std::runtime_error {
public:
    jetstream_error(int code, int error_code, const std::string& description)
        : std::runtime_error("weft: JetStream says: " + description + " (" + std::to_string(error_code) + ")"),
          code_(code),
          error_code_(error_code) {}

    /// As of HTTP: 404, 400, 503.
    [[nodiscard]] int code() const noexcept { return code_; }

    /// JetStream's own: 10059, stream not found; 10058, a stream of that name has another
    /// configuration.
    [[nodiscard]] int error_code() const noexcept { return error_code_; }

private:
    int code_;
    int error_code_;
};

}  // namespace weft::nats

template <>
struct std::is_error_code_enum<weft::nats::errc> : std::true_type {};
