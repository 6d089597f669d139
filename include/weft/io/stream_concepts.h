// stream_concepts.h: what a type must offer for the functions of weft::io.
//
// Sources are net::tcp_stream, net::unix_stream, tls::stream, fs::file, pipe_reader, http::request,
// http::reply, the readers of this folder, and each type with the same two members. read_some()
// waits for the first byte and returns the number of bytes; 0: the stream has ended. One form
// throws, the other fills a std::error_code.
//
// Sinks have write_some(), which waits until at least one byte fits and returns the number of bytes
// that were taken.
//
// A form with an error code that returns a number above 0 has succeeded; an error that it has met
// comes with the next call. A number above the size of the buffer, and 0 from a sink without an
// error, are mistakes of the stream: std::logic_error.
#pragma once

#include <concepts>
#include <cstddef>
#include <system_error>

#include <weft/detail/require.h>
#include <weft/net/buffer.h>

namespace weft::io {

using net::const_buffer;
using net::mutable_buffer;

namespace detail {

// Throws std::logic_error.
[[noreturn]] void throw_wrong_count(const char* call);

}  // namespace detail

template <typename S>
concept byte_source = requires(S& s, mutable_buffer into, std::error_code& ec) {
    { s.read_some(into) } -> std::unsigned_integral;
    { s.read_some(into, ec) } -> std::unsigned_integral;
};

template <typename S>
concept byte_sink = requires(S& s, const_buffer from, std::error_code& ec) {
    { s.write_some(from) } -> std::unsigned_integral;
    { s.write_some(from, ec) } -> std::unsigned_integral;
};

/// A sink whose peer can be told that nothing more comes, while it can still answer.
template <typename S>
concept half_closable = requires(S& s, std::error_code& ec) { s.shutdown_send(ec); };

namespace detail {

// Both call the form that throws if ec is null. *ec is set only if the result is 0.

template <byte_source S>
std::size_t read_checked(S& from, mutable_buffer b, std::error_code* ec) {
    const std::size_t n = ec == nullptr ? from.read_some(b) : from.read_some(b, *ec);
    if (n > b.size()) throw_wrong_count("read_some");
    if (n != 0 && ec != nullptr) ec->clear();
    return n;
}

// Requires: b is not empty.
template <byte_sink S>
std::size_t write_checked(S& to, const_buffer b, std::error_code* ec) {
    const std::size_t n = ec == nullptr ? to.write_some(b) : to.write_some(b, *ec);
    if (n > b.size() || (n == 0 && (ec == nullptr || !*ec))) throw_wrong_count("write_some");
    if (n != 0 && ec != nullptr) ec->clear();
    return n;
}

}  // namespace detail

}  // namespace weft::io
