// recording_file.h: weft's own form of a recording, in a file.
//
// It has everything that a recording has, in 4 to 7 bytes for each event, and may be written piece
// by piece while the program runs (stream). A file may end anywhere, because its program may have
// been killed: readers take the blocks that are whole.
//
//     file      "weftrec1", then blocks
//     block     kind (1 byte), size (varint), as many bytes. Readers skip kinds that they do not know
//     varint    7 bits in each byte, the least ones first; the top bit is set in all but the last
//     zigzag    a varint of a signed number: 0, -1, 1, -2 … are 0, 1, 2, 3 …
//     string    size (varint), bytes
//
//     kind 1    program   pid, zigzag: ns to add to times for those since 1970, string: its name, 1: it is filtered,
//                       threads for whose events there was no memory
//          2    text      number, string. A name or a message
//          3    literal   number, string. The name of a region or counter
//          4    place     number, line, string: file, string: function
//          5    g         id, place, text: its name, text: its labels. A green thread that lives
//          6    thread    number, M, tid, 1: the threads without an M, events lost
//          7    events    thread, then events, each relative to the one before it in this block
//          8    span      zigzag: ns of its begin, and of its end
//     event     kind | 0x20: the same id | 0x40: the same argument as the last one of this kind | 0x80: a detail,
//               zigzag: ns, [zigzag: id], [zigzag: argument], [detail: 1 byte]
//
// Numbers are defined before they are used. 0 is "none" for texts and places. The argument of name,
// labels, log and stack is a text, of spawn a place, of region and counter a literal. Labels are
// one text: key, 0, value, 0 … A stack is one text: a line for each function, innermost first.
//
// See: docs/recording.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "observe/output.h"
#include "observe/recorded.h"

namespace weft::observe::detail {

// Writes a file. All functions throw std::system_error, which names it.
class file_writer {
public:
    explicit file_writer(const std::string& path, output::mode how = output::mode::replace);

    void add_program(const recorded& r);
    void add_thread(uint32_t number, const recorded_ring& thread);
    void add_g(const recorded& names, const known_g& g);
    void add_span(int64_t began_ns, int64_t ended_ns);

    // Steps of one thread, in their order. names has what they refer to.
    void add_steps(const recorded& names, uint32_t thread, const step* first, std::size_t count);

    // Bytes so far.
    [[nodiscard]] uint64_t size() const noexcept { return size_ + pending_.size(); }

    // Writes what is pending.
    void flush();
    void close();

private:
    void add_block(uint8_t kind, std::string_view bytes);
    uint64_t literal(const recorded& names, uint64_t key);
    uint64_t place_number(const recorded& names, uint64_t key);
    uint64_t text(const std::string& text);
    uint64_t repeated(const std::string& text);  // one that many events have: labels, a stack
    uint64_t argument_of(const recorded& names, const step& s);

    output to_;
    std::string pending_;
    uint64_t size_ = 0;
    uint64_t texts_ = 0;
    std::unordered_map<uint64_t, uint64_t> literals_;
    std::unordered_map<uint64_t, uint64_t> places_;
    std::unordered_map<std::string, uint64_t> repeated_;  // texts of the last ones
};

void write_file(const recorded& r, const std::string& path, output::mode how = output::mode::replace);

// Throws std::system_error, or std::runtime_error if it is not such a file; both name it.
[[nodiscard]] recorded read_file(const std::string& path);

// The same from memory. what: for messages.
[[nodiscard]] recorded read_bytes(std::string_view bytes, const std::string& what);

// All steps, in the order of their times. Those of one part stay in their order.
[[nodiscard]] std::vector<step> merge(const std::vector<std::vector<step>>& parts);

}  // namespace weft::observe::detail
