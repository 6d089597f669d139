// error.h: what can go wrong with a Redis server.
//
// Three kinds of failure have three kinds of exception:
//
//     std::system_error with an errc   there is no reply: no connection, or it was lost
//     redis::server_error              the server refused the command
//     weft::cancelled, timed_out       the caller was interrupted (cancel.h)
//
// See: docs/redis.md
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>

#include <weft/detail/require.h>

namespace weft::redis {

/// Why there is no reply, or none that can be used.
enum class errc {
    could_not_connect = 1,  ///< the server does not run, or its name has no address
    connect_timed_out,      ///< no connection, or no login, after connect_time
    login_refused,          ///< the user, the password or the database is wrong
    connection_lost,        ///< it is unknown whether the server has executed the command
    reply_timed_out,        ///< no reply after reply_time; it is unknown whether the command was executed
    bad_reply,              ///< the reply is not of the Redis protocol
    wrong_kind,             ///< a reply was read as something that it is not
};

/// The category of errc. The codes of times are equivalent to std::errc::timed_out,
/// could_not_connect to std::errc::connection_refused, connection_lost to
/// std::errc::connection_reset.
[[nodiscard]] const std::error_category& error_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

/// The server has refused a command. The connection remains usable.
class server_error : public std::runtime_error {
public:
    /// text is what the server said: "WRONGTYPE Operation against a key …".
    explicit server_error(const std::string& text)
        : std::runtime_error("weft: Redis says: " + text), code_(text.substr(0, text.find(' '))) {}

    /// The first word of what the server said: "WRONGTYPE", "NOSCRIPT", "ERR".
    [[nodiscard]] const std::string& code() const noexcept { return code_; }

private:
    std::string code_;
};

}  // namespace weft::redis

template <>
struct std::is_error_code_enum<weft::redis::errc> : std::true_type {};
