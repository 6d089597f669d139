#include "ways.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

namespace wordcount {

namespace {

std::string unequal(const char* what, std::uint64_t a, std::uint64_t b) {
    char line[128];
    std::snprintf(line, sizeof(line), "%s: %" PRIu64 " against %" PRIu64, what, a, b);
    return line;
}

}  // namespace

std::size_t result::distinct_words() const noexcept {
    std::size_t sum = 0;
    for (const word_table& part : words) sum += part.size();
    return sum;
}

result count_serially(const settings& how, progress& shown) {
    result total;
    text_counter counter(1);
    std::vector<char> buffer(block_size);
    walk(how.root, total.seen, [&](std::string path) {
        input_file file(std::move(path), total.seen);
        while (const std::size_t size = file.read(buffer.data(), buffer.size())) {
            counter.feed({buffer.data(), size});
            shown.add_bytes(size);
        }
        counter.end_file();
        shown.add_file();
    });
    total.text = counter.totals();
    total.words = std::move(counter.tables());
    return total;
}

census read_everything(const settings& how, progress& shown) {
    census seen;
    std::vector<char> buffer(block_size);
    walk(how.root, seen, [&](std::string path) {
        input_file file(std::move(path), seen);
        while (const std::size_t size = file.read(buffer.data(), buffer.size())) shown.add_bytes(size);
        shown.add_file();
    });
    return seen;
}

std::string difference(const result& a, const result& b) {
    for (const auto& [what, in_a, in_b] : {
             std::tuple("files", a.seen.files, b.seen.files),
             std::tuple("directories", a.seen.directories, b.seen.directories),
             std::tuple("fingerprint of the tree", a.seen.fingerprint, b.seen.fingerprint),
             std::tuple("bytes", a.text.bytes, b.text.bytes),
             std::tuple("lines", a.text.lines, b.text.lines),
             std::tuple("words", a.text.words, b.text.words),
             std::tuple("long words", a.text.long_words, b.text.long_words),
         }) {
        if (in_a != in_b) return unequal(what, in_a, in_b);
    }
    for (std::size_t i = 0; i < skip_kinds; ++i) {
        if (a.seen.skipped[i] != b.seen.skipped[i]) {
            return unequal(name_of(static_cast<skip>(i)), a.seen.skipped[i], b.seen.skipped[i]);
        }
    }
    // If both have equally many words, and every word of a has the same count in b, the reverse
    // holds, too.
    if (a.distinct_words() != b.distinct_words())
        return unequal("different words", a.distinct_words(), b.distinct_words());
    std::string found;
    for (const word_table& part : a.words) {
        part.for_each([&](const word_table::entry& e) {
            std::uint64_t in_b = 0;
            for (const word_table& other : b.words) in_b += other.count_of(e.word(), e.hash);
            if (in_b != e.count && found.empty()) found = unequal("a word's count", e.count, in_b);
        });
    }
    return found;
}

std::vector<word_count> top_words(const result& from, std::size_t how_many) {
    using entry = const word_table::entry*;
    std::vector<entry> all;
    all.reserve(from.distinct_words());
    for (const word_table& part : from.words) {
        part.for_each([&all](const word_table::entry& e) { all.push_back(&e); });
    }
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(std::min(how_many, all.size()));
    std::partial_sort(all.begin(), last, all.end(), [](entry a, entry b) {
        return a->count != b->count ? a->count > b->count : a->word() < b->word();
    });
    std::vector<word_count> top;
    std::for_each(all.begin(), last, [&top](entry e) { top.push_back({std::string(e->word()), e->count}); });
    return top;
}

std::size_t parts_for(unsigned workers) noexcept { return std::bit_floor(std::size_t{std::max(workers / 2, 1U)}); }

}  // namespace wordcount
