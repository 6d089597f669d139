// wire.h: the two kinds of message: a chunk of work, and its result.
//
// A chunk carries text, not the names of files and ranges. Names are shorter, but then every worker
// needs the same files under the same names with the same contents: a shared file system. Without
// one, a worker that sees another version of a file would return a wrong count, and nothing would
// notice. Text costs the network what the tree has in bytes, once to the broker and once to a
// worker.
//
// A chunk is named by its number and a digest of its text. A result repeats both, so a result of
// another text is never merged, whatever is left in a stream from another run.
//
// Numbers are written with 7 bits a byte, lowest first; texts as their size and their bytes.
// Decoding throws malformed.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "../wordcount/text_counter.h"

namespace cluster_wordcount {

// A part of the subjects of all messages. Programs with another format use other subjects.
inline constexpr std::string_view format_version = "v1";

class malformed : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The number, and a digest of the text. Equal names mean equal text, with an error of 2^-64.
using chunk_name = std::pair<std::uint64_t, std::uint64_t>;

// Text of one or more files. Each piece is text of one file, and ends no word in its middle.
class chunk_text {
public:
    void add_piece(std::string_view text);

    // Of all pieces, in bytes.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    // The message for this text, and its name.
    [[nodiscard]] std::pair<std::string, chunk_name> to_message(std::uint64_t number) const;

private:
    std::string pieces_;
    std::size_t size_ = 0;
};

// Returns the name, after a check of the digest. Calls visit(piece) for each piece.
chunk_name read_chunk(std::string_view message, const std::function<void(std::string_view)>& visit = {});

struct chunk_result {
    chunk_name of;
    std::string worker;            // that has counted it
    std::uint64_t deliveries = 1;  // how often the chunk was delivered, until this one
    std::string failure;           // why it could not be counted; empty: it was
    wordcount::text_totals totals;
    wordcount::word_table words;
};

[[nodiscard]] std::string to_message(const chunk_result& r);
[[nodiscard]] chunk_result read_result(std::string_view message);

}  // namespace cluster_wordcount
