// text_counter.h: counts bytes, lines and words of files that arrive in blocks.
//
// A word is what `LC_ALL=C wc -w` takes for one (coreutils up to 9.4): bytes between white space (space, \t \n \v \f
// \r), if at least one of them is a printable ASCII character. Other bytes neither end a word nor make one. The words
// themselves are tabulated as `tr -s '[:space:]' '\n' | sort | uniq -c` would, except those longer than long_word
// bytes: they are counted, but a binary file without any white space must not end up in memory as one word. A line is
// a '\n', as for `wc -l`.
//
// A word may be cut by the end of a block; what there is of it is kept until the next block or the end of the file.
//
// Who: one thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "word_table.h"

namespace wordcount {

inline constexpr std::size_t long_word = 4096;

struct text_totals {
    std::uint64_t bytes = 0;
    std::uint64_t lines = 0;
    std::uint64_t words = 0;
    std::uint64_t long_words = 0;  // of these, how many were too long for the table

    void add(const text_totals& other) noexcept;
    friend bool operator==(const text_totals&, const text_totals&) = default;
};

class text_counter {
public:
    // The words go into so many tables, a power of two, chosen by their hash: the parts can be merged independently.
    explicit text_counter(std::size_t tables) : tables_(tables) {}

    // Counts the next block of the current file.
    void feed(std::string_view block);

    // The current file is over; the next block begins another.
    void end_file();

    [[nodiscard]] const text_totals& totals() const noexcept { return totals_; }

    [[nodiscard]] std::vector<word_table>& tables() noexcept { return tables_; }

private:
    // What bytes are, as bits.
    static constexpr std::uint8_t printable = 1;
    static constexpr std::uint8_t other = 2;

    static constexpr std::array<std::uint8_t, 256> kinds = [] {
        std::array<std::uint8_t, 256> all{};
        for (unsigned c = 0; c < all.size(); ++c) all[c] = c > ' ' && c < 0x7f ? printable : other;
        for (const char space : {' ', '\t', '\n', '\v', '\f', '\r'}) all[static_cast<unsigned char>(space)] = 0;
        return all;
    }();

    // The bytes from begin up to white space or end, and what kinds they are.
    struct run {
        const char* end;
        std::uint8_t kinds;
    };

    static run run_from(const char* begin, const char* end) noexcept;

    void count_word(std::string_view word, std::uint8_t kinds_seen);
    void carry(const char* begin, const run& part);

    text_totals totals_;
    std::vector<word_table> tables_;

    // The word the last block ended in: its first long_word + 1 bytes at most, and the kinds of all.
    bool inside_ = false;
    std::string carried_;
    std::uint8_t carried_kinds_ = 0;
};

}  // namespace wordcount
