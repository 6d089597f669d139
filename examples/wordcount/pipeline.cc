// pipeline.cc: the work as green threads that talk through channels. This is the file to read.
//
//      walker ──path──▶ readers ──file──▶ counters ──table──▶ mergers
//                         └────────block───────▲
//
// One G walks the tree and sends path names. Each reader opens a file and sends, to whichever counter is free, a
// channel of its own for that file; its blocks follow on it, in order. A counter thus sees one file after the other,
// from front to back, while its reader already reads ahead. Its tables of words go to the mergers when they are
// large; each merger owns the words of one part, so that no table is ever shared and nothing here needs a lock.
//
// Every channel has a small capacity, so memory is bounded however large the tree: a stage that is too fast waits for
// the next. Channels are closed from the front: when all who send on one have finished, those who receive from it run
// out of work, and so on down the line.
//
// (Reading a file blocks the OS thread under a green thread, and with it one core's share of the work, until the
// data is there.)
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/weft.h>

#include "ways.h"

namespace wordcount {

namespace {

constexpr std::size_t paths_ahead = 256;
constexpr std::size_t files_ahead = 4;
constexpr std::size_t blocks_ahead = 4;
constexpr std::size_t tables_ahead = 4;

// A piece of a file. Moved from reader to counter, never copied.
struct block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;

    [[nodiscard]] std::string_view text() const noexcept { return {bytes.get(), size}; }
};

using file_blocks = weft::chan<block>;

block next_block(input_file& file) {
    const std::size_t room = file.block_size(block_size);
    block next{std::make_unique_for_overwrite<char[]>(room), 0};
    next.size = file.read(next.bytes.get(), room);
    return next;
}

void read_files(const weft::recv_chan<std::string>& paths, const weft::send_chan<file_blocks>& files, census& seen) {
    for (std::string&& path : paths) {
        input_file file(std::move(path), seen);
        const file_blocks blocks(blocks_ahead);
        files.send(blocks);
        for (block b = next_block(file); b.size != 0; b = next_block(file)) blocks.send(std::move(b));
        blocks.close();
    }
}

// Sends those of tables that hold more than most words to their mergers, and empties them.
void hand_over(std::vector<word_table>& tables, const std::vector<weft::chan<word_table>>& parts, std::size_t most) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
        if (tables[i].size() > most) parts[i].send(std::exchange(tables[i], word_table()));
    }
}

void count_files(const weft::recv_chan<file_blocks>& files,
                 const std::vector<weft::chan<word_table>>& parts,
                 text_totals& totals,
                 progress& shown) {
    text_counter counter(parts.size());
    for (const file_blocks& blocks : files) {
        for (const block& b : blocks) {
            counter.feed(b.text());
            hand_over(counter.tables(), parts, table_full);
            shown.add_bytes(b.size);
        }
        counter.end_file();
        shown.add_file();
    }
    hand_over(counter.tables(), parts, 0);
    totals = counter.totals();
}

void merge(const weft::recv_chan<word_table>& tables, word_table& words) {
    for (const word_table& table : tables) words.add_all(table);
}

// Starts f as a green thread that counts as a piece of running. Not running.go(): an exception (out of memory) would
// wait there until the others have finished, and they would wait for ever for the stage that is missing. Like this it
// ends the program, with the stage's name.
template <typename F>
void start(weft::wait_group& running, std::string_view name, F f) {
    running.add();
    weft::go({.name = name}, [&running, f = std::move(f)] {
        f();
        running.done();
    });
}

}  // namespace

result count_with_green_threads(const settings& how, progress& shown) {
    const weft::chan<std::string> paths(paths_ahead);
    const weft::chan<file_blocks> files(files_ahead);
    std::vector<weft::chan<word_table>> parts;
    parts.reserve(parts_for(how.workers));
    for (std::size_t i = 0; i < parts_for(how.workers); ++i) parts.emplace_back(tables_ahead);

    // Each stage writes what it has seen into a place of its own.
    result total;
    total.words.resize(parts.size());
    std::vector<census> seen(how.readers);
    std::vector<text_totals> totals(how.workers);

    weft::wait_group walkers;
    weft::wait_group readers;
    weft::wait_group counters;
    weft::wait_group mergers;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        start(mergers, "merger", [&, i] { merge(parts[i], total.words[i]); });
    }
    for (text_totals& mine : totals) {
        start(counters, "counter", [&] { count_files(files, parts, mine, shown); });
    }
    for (census& mine : seen) {
        start(readers, "reader", [&] { read_files(paths, files, mine); });
    }
    start(walkers, "walker",
          [&] { walk(how.root, total.seen, [&](std::string path) { paths.send(std::move(path)); }); });

    // The end comes down the line.
    walkers.wait();
    paths.close();
    readers.wait();
    files.close();
    counters.wait();
    for (const weft::chan<word_table>& part : parts) part.close();
    mergers.wait();

    for (const census& part : seen) total.seen.add(part);
    for (const text_totals& part : totals) total.text.add(part);
    return total;
}

}  // namespace wordcount
