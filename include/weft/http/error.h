// error.h: error codes of HTTP, and the exception that a handler answers with.
//
// See: docs/http.md
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

#include <weft/detail/require.h>

namespace weft::http {

/// Why the body of a request cannot be read, or the response not written. Errors of the socket
/// below have their own codes.
enum class errc {
    incomplete_body = 1,  ///< the client closed the connection, or reset its stream, within the body
    body_too_large,       ///< the body is larger than body_max: status 413
    body_too_slow,        ///< the body did not arrive in body_time: status 408
    bad_body,             ///< the chunks of the body are malformed: status 400
    encoded_body,         ///< the body has a content coding, and the handler has not allowed it: status 415
    wrong_length,         ///< the handler wrote more than it announced in Content-Length
};

[[nodiscard]] const std::error_category& error_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

/// Thrown by a handler to answer with that status, and a line of text for the client. What was
/// written before is dropped, if it has not been sent, and so are fields that describe the body,
/// like ETag and Content-Length. Other fields are kept.
///
///     if (!user) throw weft::http::failure(404, "there is no such user");
class failure : public std::runtime_error {
public:
    /// status: from 400 to 599; otherwise the client gets 500.
    explicit failure(unsigned status, const std::string& text = {}) : std::runtime_error(text), status_(status) {}

    [[nodiscard]] unsigned status() const noexcept { return status_; }

private:
    unsigned status_;
};

}  // namespace weft::http

template <>
struct std::is_error_code_enum<weft::http::errc> : std::true_type {};
