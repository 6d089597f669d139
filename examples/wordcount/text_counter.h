// text_counter.h: counts bytes, lines and words of files that arrive in blocks.
//
// - A word is what `LC_ALL=C wc -w` counts (coreutils up to 9.4): bytes between white space (space,
//   \t \n \v \f \r), at least one of which is a printable ASCII character. Other bytes neither end
//   a word nor make one.
// - Words are tabulated like `tr -s '[:space:]' '\n' | sort | uniq -c`. Words longer than long_word
//   bytes are only counted, so that a binary file without white space is not stored as one word.
// - A line is a '\n', as for `wc -l`.
//
// The end of a block may cut a word. The first part is kept until the next block or the end of the
// file.
//
// Threads: one thread at a time.
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
    std::uint64_t long_words = 0;  // of these, those that were too long for the table

    void add(const text_totals& other) noexcept;
    friend bool operator==(const text_totals&, const text_totals&) = default;
};

class text_counter {
public:
    // Distributes the words to this many tables, a power of two, by their hash, so that the parts
    // can be merged independently.
    explicit text_counter(std::size_t tables) : tables_(tables) {}

    // Counts the next block of the current file.
    void feed(std::string_view block);

    // Ends the current file; the next block begins another.
    void end_file();

    [[nodiscard]] const text_totals& totals() const noexcept { return totals_; }

    [[nodiscard]] std::vector<word_table>& tables() noexcept { return tables_; }

private:
    // Classes of bytes, as bits.
    static constexpr std::uint8_t printable = 1;
    static constexpr std::uint8_t other = 2;

    static constexpr std::array<std::uint8_t, 256> kinds = [] {
        std::array<std::uint8_t, 256> all{};
        for (unsigned c = 0; c < all.size(); ++c) all[c] = c > ' ' && c < 0x7f ? printable : other;
        for (const char space : {' ', '\t', '\n', '\v', '\f', '\r'}) all[static_cast<unsigned char>(space)] = 0;
        return all;
    }();

    // The bytes from begin up to white space or end, and the classes that occur in them.
    struct run {
        const char* end;
        std::uint8_t kinds;
    };

    static run run_from(const char* begin, const char* end) noexcept;

    void count_word(std::string_view word, std::uint8_t kinds_seen);
    void carry(const char* begin, const run& part);

    text_totals totals_;
    std::vector<word_table> tables_;

    // The word in which the last block ended: at most its first long_word + 1 bytes, and the
    // classes of all of its bytes.
    bool inside_ = false;
    std::string carried_;
    std::uint8_t carried_kinds_ = 0;
};

}  // namespace wordcount
