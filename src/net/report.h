// report.h: turns the result of a socket call into an error code or an exception.
#pragma once

#include <string>
#include <system_error>

#include <weft/error.h>

#include "net/fd_io.h"

namespace weft::net::detail {

// {} if the call succeeded.
[[nodiscard]] std::error_code code_of(const weft::detail::io_result& result) noexcept;

// Requires: the call failed. Throws weft::cancelled or weft::timed_out if the caller was
// interrupted, else std::system_error, whose text begins with what.
[[noreturn]] void throw_result(const weft::detail::io_result& result, const char* what);

inline void check(const weft::detail::io_result& result, const char* what) {
    if (result.ended != weft::detail::io_result::how::done) throw_result(result, what);
}

[[noreturn]] void throw_errno(int error, const std::string& what);

}  // namespace weft::net::detail
