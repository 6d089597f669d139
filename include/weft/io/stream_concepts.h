// stream_concepts.h: what a type must offer for the functions of weft::io.
//
// Sources are net::tcp_stream, net::unix_stream, tls::stream, fs::file, pipe_reader, http::request,
// http::reply, the readers of this folder, and each type with the same two members. read_some()
// waits for the first byte and returns the number of bytes; 0: the stream has ended. One form
// throws, the other fills a std::error_code.
//
// Sinks have write_some(), which waits until at least one byte fits and returns the number of bytes
// that were taken.
#pragma once

#include <concepts>
#include <cstddef>
#include <system_error>

#include <weft/detail/require.h>
#include <weft/net/buffer.h>

namespace weft::io {

using net::const_buffer;
using net::mutable_buffer;

template <typename S>
concept byte_source = requires(S& s, mutable_buffer into, std::error_code& ec) {
    { s.read_some(into) } -> std::convertible_to<std::size_t>;
    { s.read_some(into, ec) } -> std::convertible_to<std::size_t>;
};

template <typename S>
concept byte_sink = requires(S& s, const_buffer from, std::error_code& ec) {
    { s.write_some(from) } -> std::convertible_to<std::size_t>;
    { s.write_some(from, ec) } -> std::convertible_to<std::size_t>;
};

/// A sink whose peer can be told that nothing more comes, while it can still answer.
template <typename S>
concept half_closable = requires(S& s, std::error_code& ec) { s.shutdown_send(ec); };

}  // namespace weft::io
