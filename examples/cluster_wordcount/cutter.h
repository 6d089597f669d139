// cutter.h: cuts the text of a tree into chunks.
//
// A chunk holds several small files, or a part of a large one. It is cut at white space, so that no
// word is divided. The chunks of the same tree are always the same.
//
// A run of bytes without white space that is longer than a chunk is not sent: it is counted here.
// It is one word at most, and too long for the table of words.
//
// Threads: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "../wordcount/text_counter.h"
#include "wire.h"

namespace cluster_wordcount {

struct chunk {
    chunk_name name;
    std::string message;
    std::string where;  // the first file and the offset in it, for messages to the user
    std::size_t bytes = 0;
};

class cutter {
public:
    // A chunk has less than twice `size` bytes of text. `size` is more than wordcount::long_word.
    cutter(std::size_t size, std::function<void(chunk)> send) : size_(size), send_(std::move(send)) {}

    // The next block of the file.
    void feed(const std::string& path, std::string_view block);

    // Ends the current file; the next block begins another.
    void end_file();

    // Sends the last chunk.
    void finish();

    // What was counted here.
    [[nodiscard]] const wordcount::text_totals& own_totals() const noexcept { return own_.totals(); }

private:
    void cut();
    void skip_run();
    void add_piece(std::size_t size);
    void flush();

    std::size_t size_;
    std::function<void(chunk)> send_;
    std::string file_;          // its path
    std::uint64_t offset_ = 0;  // in the file, of kept_
    std::string kept_;          // text of the file that is in no chunk yet
    bool in_run_ = false;       // the last block ended in a run that is too long
    chunk_text text_;
    std::string where_;
    std::uint64_t next_ = 0;
    wordcount::text_counter own_{1};
};

}  // namespace cluster_wordcount
