// buffered_reader_test.cc: lines and pieces, however the stream cuts them; nothing is lost by an
// error.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/io/buffered_reader.h>

namespace weft::io {
namespace {

// A stream that gives at most so many bytes at a time, and an error before each of these offsets,
// once.
class scripted_source {
public:
    explicit scripted_source(std::string text, std::size_t at_a_time = SIZE_MAX, std::deque<std::size_t> errors = {})
        : text_(std::move(text)), at_a_time_(at_a_time), errors_(std::move(errors)) {}

    std::size_t read_some(mutable_buffer b, std::error_code& ec) {
        ec.clear();
        ++calls;
        if (!errors_.empty() && given_ >= errors_.front()) {
            errors_.pop_front();
            ec = std::make_error_code(std::errc::io_error);
            return 0;
        }
        const std::size_t n = std::min({b.size(), at_a_time_, text_.size() - given_});
        std::memcpy(b.data(), text_.data() + given_, n);
        given_ += n;
        return n;
    }

    std::size_t read_some(mutable_buffer b) {
        std::error_code ec;
        const std::size_t n = read_some(b, ec);
        if (ec) throw std::system_error(ec);
        return n;
    }

    int calls = 0;

private:
    std::string text_;
    std::size_t at_a_time_;
    std::deque<std::size_t> errors_;
    std::size_t given_ = 0;
};

using reader = buffered_reader<scripted_source>;
static_assert(byte_source<reader>);
static_assert(std::ranges::input_range<reader::line_range>);

std::vector<std::string> lines_of(std::string text, std::size_t at_a_time, std::size_t capacity) {
    scripted_source from(std::move(text), at_a_time);
    std::vector<std::string> lines;
    for (const std::string_view line : reader(from, capacity).lines()) lines.emplace_back(line);
    return lines;
}

TEST(BufferedReader, LinesAreTheSameHoweverTheyArrive) {
    const std::string text = "first\n\nthird\r\n\r\rfifth\rstill fifth\r\nlast, longer than the memory of the reader";
    const std::vector<std::string> expected = {"first", "", "third", "\r\rfifth\rstill fifth",
                                               "last, longer than the memory of the reader"};
    for (const std::size_t at_a_time : {1, 2, 3, 7, 1000}) {
        for (const std::size_t capacity : {0, 1, 2, 5, 16, 8192}) {
            EXPECT_EQ(lines_of(text, at_a_time, capacity), expected) << at_a_time << " bytes at a time, " << capacity;
            EXPECT_EQ(lines_of(text + "\n", at_a_time, capacity), expected) << at_a_time << ", " << capacity;
        }
    }
    EXPECT_TRUE(lines_of("", 1, 8).empty());
    EXPECT_EQ(lines_of("\n", 1, 8), std::vector<std::string>{""});
}

TEST(BufferedReader, ShortLinesShareACallOfTheStream) {
    scripted_source from("a\nb\nc\nd\n");
    reader in(from);
    for (const char* expected : {"a", "b", "c", "d"}) EXPECT_EQ(in.read_line(), expected);
    EXPECT_EQ(from.calls, 1);
    EXPECT_EQ(in.read_line(), std::nullopt);
    EXPECT_EQ(from.calls, 2);
}

TEST(BufferedReader, SaysWhetherTheLastLineWasCutOff) {
    scripted_source from("whole\ncut");
    reader in(from);
    EXPECT_EQ(in.read_line(), "whole");
    EXPECT_FALSE(in.cut_off());
    EXPECT_EQ(in.read_line(), "cut");
    EXPECT_TRUE(in.cut_off());
    EXPECT_EQ(in.read_line(), std::nullopt);
    EXPECT_FALSE(in.cut_off());
}

TEST(BufferedReader, DelimitersMayArriveInPieces) {
    for (const std::size_t at_a_time : {1, 2, 3, 4, 5, 100}) {
        scripted_source from("head\r\n\r\nbo\r\ndy\r\n\r\n", at_a_time);
        reader in(from, 4);
        EXPECT_EQ(in.read_until("\r\n\r\n"), "head") << at_a_time;
        EXPECT_EQ(in.read_until("\r\n\r\n"), "bo\r\ndy") << at_a_time;
        EXPECT_FALSE(in.cut_off());
        EXPECT_EQ(in.read_until("\r\n\r\n"), std::nullopt);
    }
    scripted_source repeated("aaab");
    reader in(repeated);
    EXPECT_EQ(in.read_until("aab"), "a");
    EXPECT_THROW(static_cast<void>(in.read_until("")), std::invalid_argument);
}

TEST(BufferedReader, ALineIsAsLongAsAllowed) {
    for (const std::size_t at_a_time : {1, 3, 1000}) {
        scripted_source exact("12345\n123456\n", at_a_time);
        reader in(exact, 2);
        EXPECT_EQ(in.read_line(5), "12345");
        try {
            static_cast<void>(in.read_line(5));
            ADD_FAILURE() << "accepted six bytes";
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::message_size);
            EXPECT_NE(std::string(e.what()).find("more than 5 bytes"), std::string::npos) << e.what();
        }
        std::error_code ec;
        EXPECT_EQ(in.read_line(5, ec), std::nullopt);
        EXPECT_EQ(ec, std::errc::message_size);
        EXPECT_EQ(in.read_line(6, ec), "123456") << "what was too long is still there";
        EXPECT_FALSE(ec);
    }
    scripted_source without_end(std::string(1000, 'x'), 10);
    reader in(without_end, 16);
    std::error_code ec;
    EXPECT_EQ(in.read_line(100, ec), std::nullopt);
    EXPECT_EQ(ec, std::errc::message_size);
    EXPECT_LE(in.buffered().size(), 128U) << "reads on although it is too long";
}

// The last line has no end; its length still counts.
TEST(BufferedReader, TheLimitAppliesToALastLineWithoutEnd) {
    scripted_source from("123456");
    reader in(from);
    std::error_code ec;
    EXPECT_EQ(in.read_line(5, ec), std::nullopt);
    EXPECT_EQ(ec, std::errc::message_size);
    EXPECT_EQ(in.read_line(6, ec), "123456");
    EXPECT_TRUE(in.cut_off());
}

TEST(BufferedReader, NothingIsLostByAnError) {
    const std::string text = "one\ntwo\nthree\n";
    for (std::size_t at = 0; at <= text.size(); ++at) {
        scripted_source from(text, 2, {at, at});
        reader in(from, 4);
        std::string got;
        int errors = 0;
        for (;;) {
            try {
                const auto line = in.read_line();
                if (!line) break;
                got.append(*line).append("\n");
            } catch (const std::system_error& e) {
                EXPECT_EQ(e.code(), std::errc::io_error);
                ++errors;
            }
        }
        EXPECT_EQ(got, text) << "error at " << at;
        EXPECT_EQ(errors, 2);

        scripted_source again(text, 2, {at});
        reader second(again, 4);
        got.clear();
        for (;;) {
            std::error_code ec;
            const auto line = second.read_line(ec);
            if (line) got.append(*line).append("\n");
            if (!line && !ec) break;
        }
        EXPECT_EQ(got, text) << "error code at " << at;
    }
}

TEST(BufferedReader, PiecesOfKnownLength) {
    for (const std::size_t at_a_time : {1, 3, 100}) {
        scripted_source from("0123456789abcdef", at_a_time);
        reader in(from, 4);
        EXPECT_EQ(in.read_bytes(0), "");
        EXPECT_EQ(in.read_bytes(3), "012");
        EXPECT_EQ(in.peek(6), "345678");
        EXPECT_EQ(in.peek(2), "34");
        EXPECT_EQ(in.read_bytes(6), "345678");
        EXPECT_EQ(in.skip(2), 2U);
        char two[2];
        EXPECT_EQ(in.read(two), 2U);
        EXPECT_EQ(std::string_view(two, 2), "bc");
        EXPECT_EQ(in.peek(100), "def");
        EXPECT_EQ(in.read_bytes(4), "def");
        EXPECT_TRUE(in.cut_off());
        EXPECT_EQ(in.read_bytes(4), std::nullopt);
        EXPECT_EQ(in.skip(5), 0U);
        EXPECT_EQ(in.read(two), 0U);
        EXPECT_EQ(in.peek(1), "");
    }
}

TEST(BufferedReader, ReadsTheRest) {
    scripted_source from("line\nrest\nof it", 4);
    reader in(from, 8);
    EXPECT_EQ(in.read_line(), "line");
    std::error_code ec;
    EXPECT_EQ(in.read_rest(9, ec), "");
    EXPECT_EQ(ec, std::errc::message_size);
    EXPECT_EQ(in.read_rest(10), "rest\nof it");
    EXPECT_EQ(in.read_rest(), "");
}

TEST(BufferedReader, IsAStreamItself) {
    scripted_source from("line\n0123456789");
    reader in(from, 8);
    EXPECT_EQ(in.read_line(), "line");
    char small[2];
    EXPECT_EQ(in.read_some(small), 2U);
    EXPECT_EQ(std::string_view(small, 2), "01");
    char large[100];
    EXPECT_EQ(in.read_some(large), 1U) << "what it holds comes first";
    EXPECT_EQ(in.read_some(large), 7U) << "a large read goes to the stream itself";
    EXPECT_EQ(std::string_view(large, 7), "3456789");
    EXPECT_EQ(in.read_some(large), 0U);
    EXPECT_EQ(in.read_some(mutable_buffer(large, 0)), 0U);
}

TEST(BufferedReader, RangesReadNoMoreLinesThanTheyAreAskedFor) {
    scripted_source from("a\nb\nc\n", 2);
    reader in(from, 2);
    std::string taken;
    for (const std::string_view line : in.lines() | std::views::take(2)) taken += line;
    EXPECT_EQ(taken, "ab");
    EXPECT_EQ(from.calls, 2);
    EXPECT_EQ(in.read_line(), "c");
}

TEST(BufferedReader, MovesWithWhatItHolds) {
    scripted_source from("a\nb\n");
    reader first(from);
    EXPECT_EQ(first.read_line(), "a");
    reader second(std::move(first));
    EXPECT_EQ(second.read_line(), "b");
}

// What a stream has given before an error is used first; the error comes with the next call.
TEST(BufferedReader, BytesThatComeWithAnErrorCount) {
    struct both {
        std::size_t read_some(mutable_buffer b, std::error_code& ec) {
            ec = std::make_error_code(std::errc::io_error);
            if (calls++ != 0) return 0;
            std::memcpy(b.data(), "a\nb", 3);
            return 3;
        }

        std::size_t read_some(mutable_buffer b) {
            std::error_code ec;
            return read_some(b, ec);
        }

        int calls = 0;
    } from;

    buffered_reader in(from);
    std::error_code ec;
    EXPECT_EQ(in.read_line(ec), "a");
    EXPECT_FALSE(ec);
    EXPECT_EQ(in.read_line(ec), std::nullopt);
    EXPECT_EQ(ec, std::errc::io_error);
    EXPECT_EQ(in.buffered(), "b");
}

TEST(BufferedReader, ADelimiterMayBeAViewIntoTheReader) {
    scripted_source from("--boundary\nfirst part, longer than the memory of the reader--boundary", 5);
    reader in(from, 16);
    const std::optional<std::string_view> boundary = in.read_line();
    ASSERT_EQ(boundary, "--boundary");
    EXPECT_EQ(in.read_until(*boundary), "first part, longer than the memory of the reader");
    EXPECT_FALSE(in.cut_off());
}

TEST(BufferedReader, APartOfADelimiterAtTheEndCountsForTheLimit) {
    scripted_source from("0123\r\n\r");
    reader in(from);
    std::error_code ec;
    EXPECT_EQ(in.read_until("\r\n\r\n", 4, ec), std::nullopt);
    EXPECT_EQ(ec, std::errc::message_size);
    EXPECT_EQ(in.read_until("\r\n\r\n", 7, ec), "0123\r\n\r");
    scripted_source cut("abc\r");
    reader of_cut(cut);
    EXPECT_EQ(of_cut.read_line(), "abc\r") << "no end of a line";
}

TEST(BufferedReader, IsEmptyAfterItWasMovedFrom) {
    scripted_source from("a\nb\n");
    reader first(from);
    EXPECT_EQ(first.read_line(), "a");
    const reader second(std::move(first));
    EXPECT_EQ(first.buffered(), "");  // NOLINT(bugprone-use-after-move): that is the test
    EXPECT_EQ(first.read_line(), std::nullopt);
    EXPECT_EQ(second.buffered(), "b\n");
}

TEST(BufferedReader, AStreamThatCountsWronglyIsReported) {
    struct too_much {
        std::size_t read_some(mutable_buffer b) { return b.size() + 1; }

        std::size_t read_some(mutable_buffer b, std::error_code&) { return b.size() + 1; }
    } from;

    buffered_reader in(from);
    EXPECT_THROW(static_cast<void>(in.read_line()), std::logic_error);
    char b[100'000];
    EXPECT_THROW(static_cast<void>(in.read_some(b)), std::logic_error);
}

TEST(BufferedReader, ALookAheadCostsFewCalls) {
    scripted_source from(std::string(100'000, 'x'));
    reader in(from, 4096);
    for (int i = 0; i < 90'000; ++i) {
        ASSERT_EQ(in.peek(4096).size(), 4096U);
        ASSERT_EQ(in.skip(1), 1U);
    }
    EXPECT_LE(from.calls, 200);
}

}  // namespace
}  // namespace weft::io
