// copy.h: moves bytes from one stream to another.
//
// See: docs/io.md
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>

#include <weft/detail/require.h>
#include <weft/io/stream_concepts.h>
#include <weft/scope.h>

namespace weft::io {

namespace detail {

inline constexpr std::size_t copied_at_once = std::size_t{32} << 10;

// Throws if ec is null.
template <typename Source, typename Sink>
uint64_t copy_bytes(Source& from, Sink& to, uint64_t longest, std::error_code* ec) {
    const std::unique_ptr<char[]> piece(new char[copied_at_once]);
    uint64_t copied = 0;
    while (copied < longest) {
        const auto wanted = static_cast<std::size_t>((std::min<uint64_t>)(longest - copied, copied_at_once));
        const std::size_t n = read_checked(from, mutable_buffer(piece.get(), wanted), ec);
        if (n == 0) break;
        for (std::size_t written = 0; written < n;) {
            const std::size_t taken = write_checked(to, const_buffer(piece.get() + written, n - written), ec);
            written += taken;
            copied += taken;
            if (ec != nullptr && *ec) return copied;
        }
    }
    return copied;
}

// A peer that is gone need not be told.
template <typename S>
void end_sending(S& s) {
    std::error_code gone;
    s.shutdown_send(gone);
}

}  // namespace detail

/// Copies bytes until the source ends, or longest were copied. Returns their number. Does not flush
/// a buffered_writer. Throws what the streams throw, and std::bad_alloc; what was read, up to 32
/// KiB, and not written is then lost. Cancellation points: where the streams wait.
template <byte_source Source, byte_sink Sink>
uint64_t copy(Source& from, Sink& to, uint64_t longest = UINT64_MAX) {
    return detail::copy_bytes(from, to, longest, nullptr);
}

/// As copy(), but reports an error of a stream in ec, which success clears. Returns the number of
/// bytes that were written.
template <byte_source Source, byte_sink Sink>
uint64_t copy(Source& from, Sink& to, uint64_t longest, std::error_code& ec) {
    ec.clear();
    return detail::copy_bytes(from, to, longest, &ec);
}

template <byte_source Source, byte_sink Sink>
uint64_t copy(Source& from, Sink& to, std::error_code& ec) {
    return copy(from, to, UINT64_MAX, ec);
}

/// How many bytes relay() has moved.
struct relayed {
    uint64_t forth = 0;  ///< from a to b
    uint64_t back = 0;   ///< from b to a
};

/// Connects two streams, as a proxy does: copies in both directions at the same time, the one from
/// b in a green thread of its own. When one side ends, the other is told by shutdown_send(), whose
/// errors are dropped, and may still answer. Returns when both have ended. The first error cancels
/// the other direction, and is thrown when it has ended. The streams stay open.
template <typename A, typename B>
    requires byte_source<A> && byte_sink<A> && half_closable<A> && byte_source<B> && byte_sink<B> && half_closable<B>
relayed relay(A& a, B& b) {
    relayed moved;
    weft::scope([&](weft::task_scope& both) {
        both.go([&] {
            moved.back = copy(b, a);
            detail::end_sending(a);
        });
        moved.forth = copy(a, b);
        detail::end_sending(b);
    });
    return moved;
}

}  // namespace weft::io
