// buffered_writer.h: collects small writes to a stream, and passes them on in large ones.
//
//     weft::io::buffered_writer out(socket);
//     for (const row& r : rows) out.write_all(r.text());
//     out.flush();
//
// Call flush() at the end, and before you wait for an answer: without it, errors of the last writes
// are not reported. The destructor tries to flush, and drops errors. It does not try if an
// exception is on its way through the block of the writer: the stream may be what failed.
//
// Nothing is lost by an error, a deadline or a cancellation, and nothing is written twice: bytes
// that the stream has not taken stay here, and the next flush() continues with them.
//
// Each call has two forms. One throws what the stream's write_some() throws. The other fills a
// std::error_code, which success clears. Both throw std::bad_alloc.
//
// The stream must outlive the writer. Not movable; one thread at a time. Cancellation points: where
// the stream waits.
//
// See: docs/io.md
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string_view>
#include <system_error>

#include <weft/detail/byte_queue.h>
#include <weft/detail/require.h>
#include <weft/io/stream_concepts.h>

namespace weft::io {

template <byte_sink Sink>
class buffered_writer {
public:
    /// to: the stream; kept by reference. capacity: bytes that are collected.
    explicit buffered_writer(Sink& to, std::size_t capacity = 8192) noexcept
        : to_(&to), kept_((std::max)(capacity, std::size_t{1})), exceptions_(std::uncaught_exceptions()) {}

    buffered_writer(const buffered_writer&) = delete;
    buffered_writer& operator=(const buffered_writer&) = delete;

    ~buffered_writer() {
        if (std::uncaught_exceptions() > exceptions_) return;
        std::error_code dropped;
        try {
            flush(dropped);
        } catch (...) {  // the stream's own; weft's do not throw
            return;
        }
    }

    /// Takes all of b. Waits if that is more than fits; bytes beyond the capacity go to the stream
    /// without a copy. Returns b.size(); with an error code, on error: the number of bytes taken
    /// before it. Where an exception leaves it, an unknown part of b was taken; to know how much,
    /// use the other form.
    std::size_t write_all(const_buffer b) { return take(b, nullptr); }

    std::size_t write_all(const_buffer b, std::error_code& ec) {
        ec.clear();
        return take(b, &ec);
    }

    /// As write_all(), for code that writes to any sink. Returns the number of bytes taken, at
    /// least one; 0 if b is empty.
    [[nodiscard]] std::size_t write_some(const_buffer b) { return take_some(b, nullptr); }

    [[nodiscard]] std::size_t write_some(const_buffer b, std::error_code& ec) {
        ec.clear();
        return take_some(b, &ec);
    }

    /// Passes everything on. If it fails, it can be repeated.
    void flush() { drain(nullptr); }

    void flush(std::error_code& ec) {
        ec.clear();
        drain(&ec);
    }

    /// The number of bytes that the stream has not got yet.
    [[nodiscard]] std::size_t pending() const noexcept { return kept_.size(); }

    [[nodiscard]] Sink& sink() const noexcept { return *to_; }

private:
    // Each of these throws if ec is null. The bool is false if *ec is set.

    std::size_t pass(const_buffer b, std::error_code* ec) { return detail::write_checked(*to_, b, ec); }

    bool drain(std::error_code* ec) {
        while (!kept_.empty()) {
            kept_.consume(pass(kept_.unread(), ec));
            if (ec != nullptr && *ec) return false;
        }
        return true;
    }

    std::size_t take(const_buffer b, std::error_code* ec) {
        std::size_t taken = 0;
        while (taken < b.size()) {
            taken += take_some({static_cast<const char*>(b.data()) + taken, b.size() - taken}, ec);
            if (ec != nullptr && *ec) break;
        }
        return taken;
    }

    std::size_t take_some(const_buffer b, std::error_code* ec) {
        if (b.size() == 0) return 0;
        if (kept_.size() == kept_.capacity() && !drain(ec)) return 0;
        if (kept_.empty() && b.size() >= kept_.capacity()) return pass(b, ec);
        const std::size_t n = (std::min)(b.size(), kept_.capacity() - kept_.size());
        std::memcpy(kept_.make_room(kept_.capacity()).data(), b.data(), n);
        kept_.append(n);
        return n;
    }

    Sink* to_;
    weft::detail::byte_queue kept_;
    int exceptions_;  // in flight when the writer was made
};

}  // namespace weft::io
