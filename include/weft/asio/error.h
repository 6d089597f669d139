// error.h: error codes of weft as Boost has them.
//
// Those that have a counterpart in Asio become that, because libraries compare with it: Beast with boost::asio::error::eof, for one. The
// others stay what they are, in Boost's type.
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
    // Numbers of errno: Asio's are of this category.
    if (ec.category() == std::generic_category() || ec.category() == std::system_category()) {
        return {ec.value(), boost::system::system_category()};
    }
    return ec;
}

}  // namespace weft::asio
