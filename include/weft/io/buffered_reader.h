// buffered_reader.h: reads lines, and pieces of known length, from a stream.
//
//     weft::io::buffered_reader in(socket);
//     while (const auto line = in.read_line()) answer(*line);
//     for (std::string_view line : weft::io::buffered_reader(file).lines()) …
//
// Asks the stream for as much as fits into its memory, so a short line costs no system call. Memory
// is taken at the first read, and grows for longer pieces.
//
// Nothing is lost by an error, a deadline or a cancellation: what has arrived stays here, and the
// next call continues with it. So a call may be given a time limit, and repeated; except read() and
// skip(), which do not say how far they came when they throw.
//
// Each call has two forms. One throws what the stream's read_some() throws. The other fills a
// std::error_code, which success clears. Both throw std::bad_alloc.
//
// The stream must outlive the reader. Bytes that the reader holds are not seen by others that read
// the stream. Movable; one thread at a time. Cancellation points: where the stream waits.
//
// See: docs/io.md
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <weft/detail/byte_queue.h>
#include <weft/detail/require.h>
#include <weft/io/stream_concepts.h>

namespace weft::io {

/// The longest line, in bytes, that read_line() and read_until() accept by default.
inline constexpr std::size_t longest_line = std::size_t{1} << 20;

namespace detail {

// Reports a piece of more than longest bytes: throws std::system_error if ec is null.
void report_too_long(std::size_t longest, std::error_code* ec);

// Throws std::invalid_argument: read_until() with an empty delimiter.
[[noreturn]] void throw_empty_delimiter();

}  // namespace detail

template <byte_source Source>
class buffered_reader {
public:
    /// from: the stream; kept by reference. capacity: bytes of memory, and the most that is asked
    /// of the stream at a time.
    explicit buffered_reader(Source& from, std::size_t capacity = 8192) noexcept : from_(&from), kept_(capacity) {}

    // ---- Lines.

    /// Reads a line. Returns it without its end, "\n" or "\r\n"; nullopt if the stream has ended.
    /// The view is valid until the next call. The last line may have no end: see cut_off(). A line
    /// of more than longest bytes before the "\n" is std::errc::message_size; its beginning can
    /// then be read with read_some(), or skipped.
    [[nodiscard]] std::optional<std::string_view> read_line(std::size_t longest = longest_line) {
        return without_return(until("\n", longest, nullptr));
    }

    [[nodiscard]] std::optional<std::string_view> read_line(std::size_t longest, std::error_code& ec) {
        return without_return(until("\n", longest, &cleared(ec)));
    }

    [[nodiscard]] std::optional<std::string_view> read_line(std::error_code& ec) { return read_line(longest_line, ec); }

    /// As read_line(), with another end, of one or more bytes. Throws std::invalid_argument if
    /// delimiter is empty. O(bytes), times the length of delimiter.
    [[nodiscard]] std::optional<std::string_view> read_until(std::string_view delimiter,
                                                             std::size_t longest = longest_line) {
        return until(delimiter, longest, nullptr);
    }

    [[nodiscard]] std::optional<std::string_view> read_until(std::string_view delimiter,
                                                             std::size_t longest,
                                                             std::error_code& ec) {
        return until(delimiter, longest, &cleared(ec));
    }

    /// Whether the stream has ended within the last piece of read_line(), read_until() or
    /// read_bytes(): before the end of the line, before the delimiter, or before n bytes.
    [[nodiscard]] bool cut_off() const noexcept { return cut_off_; }

    class line_range;

    /// The remaining lines, as an input range of std::string_view. Reads a line when the iterator
    /// is compared or dereferenced, not before. Throws as read_line().
    [[nodiscard]] line_range lines(std::size_t longest = longest_line) & noexcept { return line_range(*this, longest); }

    /// The range keeps the reader.
    [[nodiscard]] auto lines(std::size_t longest = longest_line) && noexcept {
        return owning_line_range(std::move(*this), longest);
    }

    // ---- Pieces of known length.

    /// Reads n bytes. Returns a view of them, valid until the next call; nullopt if the stream has
    /// ended before the first; fewer if it ends within them: see cut_off(). Takes n bytes of
    /// memory, so check a number that comes from a peer.
    [[nodiscard]] std::optional<std::string_view> read_bytes(std::size_t n) { return bytes(n, nullptr); }

    [[nodiscard]] std::optional<std::string_view> read_bytes(std::size_t n, std::error_code& ec) {
        return bytes(n, &cleared(ec));
    }

    /// Returns the next n bytes without removing them; fewer if the stream ends before. The view is
    /// valid until the next call.
    [[nodiscard]] std::string_view peek(std::size_t n) { return look(n, nullptr); }

    [[nodiscard]] std::string_view peek(std::size_t n, std::error_code& ec) { return look(n, &cleared(ec)); }

    /// Removes the next n bytes. Returns how many: fewer if the stream ends before. With an error
    /// code, on error: how many before it. Where an exception leaves it, their number is not known.
    std::uint64_t skip(std::uint64_t n) { return pass_over(n, nullptr); }

    std::uint64_t skip(std::uint64_t n, std::error_code& ec) { return pass_over(n, &cleared(ec)); }

    /// Reads until the stream ends. More than longest bytes are std::errc::message_size; those that
    /// have come can then be read.
    [[nodiscard]] std::string read_rest(std::size_t longest = SIZE_MAX) { return rest(longest, nullptr); }

    [[nodiscard]] std::string read_rest(std::size_t longest, std::error_code& ec) {
        return rest(longest, &cleared(ec));
    }

    // ---- As a stream.

    /// Reads 1 to b.size() bytes; waits for the first. Returns the number of bytes; 0 if the stream
    /// has ended, or b is empty.
    [[nodiscard]] std::size_t read_some(mutable_buffer b) { return some(b, nullptr); }

    [[nodiscard]] std::size_t read_some(mutable_buffer b, std::error_code& ec) { return some(b, &cleared(ec)); }

    /// Fills b. Returns b.size(), or less if the stream ends before. With an error code, on error:
    /// the number of bytes before it. Where an exception leaves it, the bytes are in b, and their
    /// number is not known; read_bytes() loses nothing.
    [[nodiscard]] std::size_t read(mutable_buffer b) { return whole(b, nullptr); }

    [[nodiscard]] std::size_t read(mutable_buffer b, std::error_code& ec) { return whole(b, &cleared(ec)); }

    /// What has arrived and was not read; valid until the next call.
    [[nodiscard]] std::string_view buffered() const noexcept { return kept_.unread(); }

    [[nodiscard]] Source& source() const noexcept { return *from_; }

    class line_iterator {
    public:
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        line_iterator(buffered_reader& from, std::size_t longest) noexcept : from_(&from), longest_(longest) {}

        std::string_view operator*() const {
            read();
            return line_.value_or(std::string_view());
        }

        line_iterator& operator++() {
            read();  // the line that is skipped
            is_read_ = false;
            return *this;
        }

        void operator++(int) { ++*this; }

        friend bool operator==(const line_iterator& it, std::default_sentinel_t) {
            it.read();
            return !it.line_.has_value();
        }

    private:
        void read() const {
            if (is_read_) return;
            line_ = from_->read_line(longest_);
            is_read_ = true;
        }

        buffered_reader* from_;
        std::size_t longest_;
        mutable std::optional<std::string_view> line_;
        mutable bool is_read_ = false;
    };

    class line_range {
    public:
        line_range(buffered_reader& from, std::size_t longest) noexcept : from_(&from), longest_(longest) {}

        [[nodiscard]] line_iterator begin() const noexcept { return line_iterator(*from_, longest_); }

        [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

    private:
        buffered_reader* from_;
        std::size_t longest_;
    };

private:
    // The range of a reader that is a temporary.
    class owning_line_range {
    public:
        owning_line_range(buffered_reader&& from, std::size_t longest) noexcept
            : from_(std::move(from)), longest_(longest) {}

        [[nodiscard]] line_iterator begin() noexcept { return line_iterator(from_, longest_); }

        [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

    private:
        buffered_reader from_;
        std::size_t longest_;
    };

    static std::error_code& cleared(std::error_code& ec) noexcept {
        ec.clear();
        return ec;
    }

    // A "\r" at the end of a line that was cut off is not the beginning of "\r\n".
    std::optional<std::string_view> without_return(std::optional<std::string_view> line) const noexcept {
        if (line && !cut_off_ && line->ends_with('\r')) line->remove_suffix(1);
        return line;
    }

    // Each of these throws if ec is null.

    std::size_t ask(mutable_buffer b, std::error_code* ec) { return detail::read_checked(*from_, b, ec); }

    // Waits for more bytes behind those that are kept. Returns whether there are any.
    bool more(std::error_code* ec) {
        const std::size_t n = ask(kept_.make_room(kept_.size() + 1), ec);
        kept_.append(n);
        return n != 0;
    }

    // Removes n bytes, and returns them.
    std::string_view take(std::size_t n) noexcept {
        const std::string_view taken = kept_.unread().substr(0, n);
        kept_.consume(n);
        return taken;
    }

    std::optional<std::string_view> until(std::string_view delimiter, std::size_t longest, std::error_code* ec) {
        if (delimiter.empty()) detail::throw_empty_delimiter();
        std::string kept_delimiter;  // if it came from this reader, whose memory changes
        if (kept_.holds(delimiter)) delimiter = kept_delimiter = delimiter;
        std::size_t seen = 0;  // bytes in which no delimiter begins
        for (;;) {
            const std::string_view unread = kept_.unread();
            const std::size_t at = unread.find(delimiter, seen);
            if ((std::min)(at, unread.size() - (std::min)(unread.size(), delimiter.size() - 1)) > longest) {
                detail::report_too_long(longest, ec);
                return std::nullopt;
            }
            if (at != std::string_view::npos) {
                cut_off_ = false;
                const std::string_view piece = take(at + delimiter.size());
                return piece.substr(0, at);
            }
            seen = unread.size() - (std::min)(unread.size(), delimiter.size() - 1);
            if (more(ec)) continue;
            if (kept_.size() > longest && (ec == nullptr || !*ec)) {  // the rest may be a part of the delimiter
                detail::report_too_long(longest, ec);
                return std::nullopt;
            }
            return ended(ec);
        }
    }

    // The stream has ended, or failed.
    std::optional<std::string_view> ended(const std::error_code* ec) noexcept {
        if (ec != nullptr && *ec) return std::nullopt;
        cut_off_ = !kept_.empty();
        if (!cut_off_) return std::nullopt;
        return take(kept_.size());
    }

    std::optional<std::string_view> bytes(std::size_t n, std::error_code* ec) {
        while (kept_.size() < n) {
            const std::size_t got = ask(kept_.make_room(n), ec);
            kept_.append(got);
            if (got == 0) return ended(ec);
        }
        cut_off_ = false;
        return take(n);
    }

    std::string_view look(std::size_t n, std::error_code* ec) {
        while (kept_.size() < n) {
            const std::size_t got = ask(kept_.make_room(n), ec);
            kept_.append(got);
            if (got == 0) break;
        }
        return kept_.unread().substr(0, n);
    }

    std::uint64_t pass_over(std::uint64_t n, std::error_code* ec) {
        std::uint64_t passed = 0;
        for (;;) {
            const std::size_t here = static_cast<std::size_t>((std::min<std::uint64_t>)(n - passed, kept_.size()));
            kept_.consume(here);
            passed += here;
            if (passed == n || !more(ec)) return passed;
        }
    }

    std::string rest(std::size_t longest, std::error_code* ec) {
        for (;;) {
            if (kept_.size() > longest) {
                detail::report_too_long(longest, ec);
                return {};
            }
            if (!more(ec)) break;
        }
        if (ec != nullptr && *ec) return {};
        std::string all(kept_.unread());
        kept_.consume(all.size());
        return all;
    }

    std::size_t some(mutable_buffer b, std::error_code* ec) {
        if (b.size() == 0) return 0;
        if (kept_.empty()) {
            if (b.size() >= kept_.capacity()) return ask(b, ec);
            if (!more(ec)) return 0;
        }
        const std::string_view piece = take((std::min)(b.size(), kept_.size()));
        std::memcpy(b.data(), piece.data(), piece.size());
        return piece.size();
    }

    std::size_t whole(mutable_buffer b, std::error_code* ec) {
        std::size_t filled = 0;
        while (filled < b.size()) {
            const std::size_t n = some({static_cast<char*>(b.data()) + filled, b.size() - filled}, ec);
            filled += n;
            if (n == 0) break;
        }
        return filled;
    }

    Source* from_;
    weft::detail::byte_queue kept_;
    bool cut_off_ = false;
};

}  // namespace weft::io
