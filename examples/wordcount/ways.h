// ways.h: the same work done three ways. All three give the same result for the same tree, whatever runs first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "progress.h"
#include "text_counter.h"
#include "tree.h"
#include "word_table.h"

namespace wordcount {

struct settings {
    std::string root;
    unsigned workers = 1;  // OS threads of the pool, counters of the pipeline
    unsigned readers = 4;  // of the pipeline
};

struct result {
    census seen;
    text_totals text;
    std::vector<word_table> words;  // each word is in one of them

    [[nodiscard]] std::size_t distinct_words() const noexcept;
};

// In one loop, with one table. The yardstick.
[[nodiscard]] result count_serially(const settings& how, progress& shown);

// A std::thread for every core takes path names from a queue: a mutex and two condition variables.
[[nodiscard]] result count_with_threads(const settings& how, progress& shown);

// A pipeline of green threads: walker → readers → counters → mergers. Call it from a green thread.
[[nodiscard]] result count_with_green_threads(const settings& how, progress& shown);

// Reads every file and does nothing with it, so that the page cache is equally warm for whoever comes next.
[[nodiscard]] census read_everything(const settings& how, progress& shown);

// What differs between two results, down to single words; empty if nothing does.
[[nodiscard]] std::string difference(const result& a, const result& b);

struct word_count {
    std::string word;
    std::size_t count = 0;
};

// The most frequent words; of equally frequent ones those that sort first, byte by byte.
[[nodiscard]] std::vector<word_count> top_words(const result& from, std::size_t how_many);

// What the parallel ways share: blocks are read in this size, and a worker's tables are merged when they hold so many
// words. Small tables stay in the core's cache and bound what a worker holds.
inline constexpr std::size_t block_size = std::size_t{64} * 1024;
inline constexpr std::size_t table_full = std::size_t{16} * 1024;

// Into how many parts the words are divided for merging: a power of two, at most half the workers.
[[nodiscard]] std::size_t parts_for(unsigned workers) noexcept;

}  // namespace wordcount
