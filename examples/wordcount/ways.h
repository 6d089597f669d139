// ways.h: three ways to do the same work. All give the same result for the same tree, in any order.
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

// One loop with one table: the baseline.
[[nodiscard]] result count_serially(const settings& how, progress& shown);

// One std::thread per core takes path names from a queue with a mutex and two condition variables.
[[nodiscard]] result count_with_threads(const settings& how, progress& shown);

// A pipeline of green threads: walker → readers → counters → mergers. Must be called from a green
// thread.
[[nodiscard]] result count_with_green_threads(const settings& how, progress& shown);

// Reads every file without using the content, so that the page cache is equally warm for each of
// the three ways.
[[nodiscard]] census read_everything(const settings& how, progress& shown);

// Describes what differs between two results, down to single words; empty if nothing differs.
[[nodiscard]] std::string difference(const result& a, const result& b);

struct word_count {
    std::string word;
    std::size_t count = 0;
};

// The most frequent words. Words with equal counts are in the order of their bytes.
[[nodiscard]] std::vector<word_count> top_words(const result& from, std::size_t how_many);

// Used by both parallel ways: the size of a block, and the number of words from which a worker's
// table is merged. Small tables fit into the core's cache, and limit a worker's memory.
inline constexpr std::size_t block_size = std::size_t{64} * 1024;
inline constexpr std::size_t table_full = std::size_t{16} * 1024;

// The number of parts into which the words are divided for merging: a power of two, at most half
// the workers.
[[nodiscard]] std::size_t parts_for(unsigned workers) noexcept;

}  // namespace wordcount
