// error.h: what can go wrong with a PostgreSQL server.
//
// Three kinds of failure have three kinds of exception:
//
//     std::system_error with an errc   there is no result: no connection, or it was lost
//     postgres::server_error           the server refused the statement; it has the SQLSTATE
//     weft::cancelled, timed_out       the caller was interrupted (cancel.h)
//
// See: docs/postgres.md
#pragma once

#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <weft/detail/require.h>

namespace weft::postgres {

/// Why there is no result, or none that can be used.
enum class errc {
    bad_conninfo = 1,   ///< the connection string is malformed
    could_not_connect,  ///< the server does not run, or refused the login; the message has its reason
    connect_timed_out,  ///< no connection, or no login, after connect_time
    connection_lost,    ///< it is unknown whether the server has executed the statement
    wrong_kind,         ///< a value was read as something that it is not
};

/// The category of errc. connect_timed_out is equivalent to std::errc::timed_out, could_not_connect
/// to std::errc::connection_refused, connection_lost to std::errc::connection_reset.
[[nodiscard]] const std::error_category& error_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

/// What the server says of an error.
struct diagnostics {
    std::string sqlstate;    ///< five characters: "23505"
    std::string message;     ///< "duplicate key value violates unique constraint …"
    std::string detail;      ///< empty if the server sends nothing; the same for the next ones
    std::string hint;        ///<
    std::string constraint;  ///< the name of the constraint that was violated
    std::string table;       ///<
    std::string column;      ///<
};

/// The server has refused a statement. The connection remains usable.
class server_error : public std::runtime_error {
public:
    explicit server_error(diagnostics d)
        : std::runtime_error("weft: PostgreSQL says: " + d.message + " (" + d.sqlstate + ")"), what_(std::move(d)) {}

    [[nodiscard]] const std::string& sqlstate() const noexcept { return what_.sqlstate; }

    [[nodiscard]] const diagnostics& details() const noexcept { return what_; }

    /// Whether the transaction was aborted because of a conflict with another one
    /// (serialization_failure, deadlock_detected): it may succeed if it is repeated.
    [[nodiscard]] bool is_conflict() const noexcept { return what_.sqlstate == "40001" || what_.sqlstate == "40P01"; }

private:
    diagnostics what_;
};

}  // namespace weft::postgres

template <>
struct std::is_error_code_enum<weft::postgres::errc> : std::true_type {};
