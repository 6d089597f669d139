// results.h: merges each chunk's result exactly once.
//
// The broker delivers a result at least once, and a chunk may be counted by several workers. So a
// result counts only if its chunk is expected, with the same digest, and has not been counted.
// Results that come before their chunk is cut are kept: a coordinator that continues the work of
// one that was killed finds the results that are there, and does not send their chunks again.
//
// Threads: one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "../wordcount/ways.h"
#include "wire.h"

namespace cluster_wordcount {

class results {
public:
    enum class answer { merged, failed, ignored };

    // A chunk with that name was cut. Returns whether its result has still to come.
    bool expect(const chunk_name& name);

    // merged: the first result of an expected chunk. failed: a worker says that it could not be
    // counted; a later result still counts. ignored: all others.
    answer take(chunk_result&& r);

    // How many chunks have a result, and the sum of all deliveries after the first of each.
    [[nodiscard]] std::uint64_t merged() const noexcept { return merged_; }

    [[nodiscard]] std::uint64_t redelivered() const noexcept { return redelivered_; }

    [[nodiscard]] const wordcount::text_totals& totals() const noexcept { return totals_; }

    [[nodiscard]] wordcount::word_table& words() noexcept { return words_; }

private:
    enum class state : std::uint8_t { expected, counted };

    struct cut_chunk {
        std::uint64_t digest;
        state is;
    };

    void merge(const chunk_result& r);

    std::vector<cut_chunk> cut_;  // by number
    std::map<chunk_name, chunk_result> early_;
    std::uint64_t merged_ = 0;
    std::uint64_t redelivered_ = 0;
    wordcount::text_totals totals_;
    wordcount::word_table words_;
};

}  // namespace cluster_wordcount
