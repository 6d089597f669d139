#include "text_counter.h"

#include <algorithm>

namespace wordcount {

void text_totals::add(const text_totals& other) noexcept {
    bytes += other.bytes;
    lines += other.lines;
    words += other.words;
    long_words += other.long_words;
}

text_counter::run text_counter::run_from(const char* begin, const char* end) noexcept {
    std::uint8_t seen = 0;
    const char* p = begin;
    for (; p != end; ++p) {
        const std::uint8_t kind = kinds[static_cast<unsigned char>(*p)];
        if (kind == 0) break;
        seen |= kind;
    }
    return {p, seen};
}

void text_counter::feed(std::string_view block) {
    totals_.bytes += block.size();
    totals_.lines += static_cast<std::uint64_t>(std::count(block.begin(), block.end(), '\n'));

    const char* p = block.data();
    const char* const end = p + block.size();
    if (inside_) {
        const run rest = run_from(p, end);
        carry(p, rest);
        if (rest.end == end) return;
        end_file();
        p = rest.end;
    }
    for (;;) {
        while (p != end && kinds[static_cast<unsigned char>(*p)] == 0) ++p;
        if (p == end) return;
        const run word = run_from(p, end);
        if (word.end == end) return carry(p, word);
        count_word({p, static_cast<std::size_t>(word.end - p)}, word.kinds);
        p = word.end;
    }
}

void text_counter::end_file() {
    if (!inside_) return;
    count_word(carried_, carried_kinds_);
    inside_ = false;
    carried_.clear();
    carried_kinds_ = 0;
}

void text_counter::carry(const char* begin, const run& part) {
    const auto size = static_cast<std::size_t>(part.end - begin);
    carried_.append(begin, std::min(size, long_word + 1 - carried_.size()));
    carried_kinds_ |= part.kinds;
    inside_ = true;
}

void text_counter::count_word(std::string_view word, std::uint8_t kinds_seen) {
    if ((kinds_seen & printable) == 0) return;
    ++totals_.words;
    if (word.size() > long_word) {
        ++totals_.long_words;
        return;
    }
    const std::uint64_t hash = hash_of(word);
    tables_[(hash >> 48) & (tables_.size() - 1)].add(word, hash);
}

}  // namespace wordcount
