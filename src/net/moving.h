// moving.h: moves bytes through sockets and pipes, in the two forms of a call.
#pragma once

#include <cstddef>
#include <system_error>

#include <weft/net/buffer.h>

#include "net/fd_io.h"
#include "net/report.h"

namespace weft::net::detail {

using weft::detail::fd_handle;
using weft::detail::io_result;

inline constexpr std::size_t bytes_max = 0x7fff'0000;  // the limit of the system for one call

[[nodiscard]] inline bool is_done(const io_result& r) noexcept { return r.ended == io_result::how::done; }

[[nodiscard]] inline std::size_t moved_by(const io_result& r) noexcept {
    return is_done(r) ? static_cast<std::size_t>(r.count) : 0;
}

[[nodiscard]] inline io_result moves_nothing(const fd_handle& h) noexcept {
    return h.is_open() ? io_result{} : io_result{-1, 0, io_result::how::closed};
}

// Calls once(done), which moves bytes from offset done on, until total bytes are moved, it moves
// none, or it fails.
template <typename Once>
std::size_t repeat(const fd_handle& h, std::size_t total, io_result& last, Once once) {
    if (total == 0) last = moves_nothing(h);
    std::size_t done = 0;
    while (done < total) {
        last = once(done);
        if (!is_done(last) || last.count == 0) break;
        done += moved_by(last);
    }
    return done;
}

// Here once(buffer) gets the rest of b.
template <typename Once>
std::size_t repeat(const fd_handle& h, mutable_buffer b, io_result& last, Once once) {
    auto* at = static_cast<std::byte*>(b.data());
    return repeat(h, b.size(), last,
                  [&](std::size_t done) { return once(mutable_buffer(at + done, b.size() - done)); });
}

template <typename Once>
std::size_t repeat(const fd_handle& h, const_buffer b, io_result& last, Once once) {
    const auto* at = static_cast<const std::byte*>(b.data());
    return repeat(h, b.size(), last, [&](std::size_t done) { return once(const_buffer(at + done, b.size() - done)); });
}

inline std::size_t checked(const io_result& last, std::size_t moved, const char* what) {
    if (!is_done(last)) throw_result(last, what);
    return moved;
}

inline std::size_t reported(const io_result& last, std::size_t moved, std::error_code& ec) noexcept {
    if (is_done(last)) [[likely]] {
        if (ec) ec.clear();  // otherwise keeps its category: fetching one calls another library
    } else {
        ec = code_of(last);
    }
    return moved;
}

}  // namespace weft::net::detail
