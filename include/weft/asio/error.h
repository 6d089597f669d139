// error.h: converts weft's error codes to Boost's.
//
// Codes with a counterpart in Asio become that, because libraries compare with it: Beast, for
// example, with boost::asio::error::eof. The others keep their value, in Boost's type.
//
// See: docs/asio.md
#pragma once

#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>
#include <system_error>

#include <weft/detail/require.h>
#include <weft/error.h>

namespace weft::asio {

[[nodiscard]] inline boost::system::error_code to_boost(const std::error_code& ec) noexcept {
    if (!ec) return {};
    if (ec == errc::timed_out) return boost::asio::error::timed_out;
    if (ec == errc::cancelled) return boost::asio::error::operation_aborted;
    if (ec == errc::closed) return boost::asio::error::bad_descriptor;
    // errno values: Asio's codes for them are in this category.
    if (ec.category() == std::generic_category() || ec.category() == std::system_category()) {
        return {ec.value(), boost::system::system_category()};
    }
    return ec;
}

}  // namespace weft::asio
