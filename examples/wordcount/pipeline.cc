// pipeline.cc: counts with green threads that communicate over channels. This is the file to read.
//
//      walker ──path──▶ readers ──file──▶ counters ──table──▶ mergers
//                         └────────block───────▲
//
// One G walks the tree and sends path names. Each reader opens a file and makes a channel for it,
// which it sends to the next free counter. The blocks of the file follow on that channel, in order.
// So a counter processes one file after the other, from start to end, while its reader reads ahead.
//
// A counter sends its word tables to the mergers when they are large. Each merger owns the words of
// one part, so no table is shared and no lock is needed.
//
// Every channel has a small capacity, so memory is bounded for any size of tree: a stage that is
// too fast waits for the next. Channels are closed from the front of the pipeline to its end: when
// all senders of a channel have finished, it is closed, and its receivers finish.
//
// (Reading a file blocks the OS thread of the green thread, and with it one core's share of the
// work, until the data arrives.)
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

// A piece of a file. It is moved from reader to counter, never copied.
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

// Sends each table that has more than most words to its merger, and replaces it by an empty one.
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

// Starts f as a green thread and counts it in running. It does not use running.go(): that would
// keep an exception (out of memory) until all others have finished, but these would wait for ever
// for the failed stage. This way, the exception ends the program, with the name of the stage.
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

    // Each stage stores its results in its own element.
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

    // Closes the channels from the front to the end.
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
