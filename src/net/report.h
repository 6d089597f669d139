// report.h: how a call on a socket has ended, for its two forms: as an error code, or thrown.
#pragma once

#include <string>
#include <system_error>

#include <weft/error.h>

#include "net/fd_io.h"

namespace weft::net::detail {

// {} if the call is done.
[[nodiscard]] std::error_code code_of(const weft::detail::io_result& result) noexcept;

// The call is not done: throws weft::cancelled or weft::timed_out where the caller was interrupted, else std::system_error, which begins with
// what.
[[noreturn]] void throw_result(const weft::detail::io_result& result, const char* what);

[[noreturn]] void throw_errno(int error, const std::string& what);

}  // namespace weft::net::detail
