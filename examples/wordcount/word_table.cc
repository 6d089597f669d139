#include "word_table.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wordcount {

namespace {

std::uint64_t mix(std::uint64_t h) noexcept {
    h *= 0x9e3779b97f4a7c15U;
    return h ^ (h >> 32);
}

// The last 1 to 8 bytes of a word, as one number.
std::uint64_t tail_of(const char* bytes, std::size_t size) noexcept {
    const auto byte = [bytes](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(bytes[i])}; };
    if (size < 4) return byte(0) << 16 | byte(size / 2) << 8 | byte(size - 1);
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::memcpy(&first, bytes, sizeof(first));
    std::memcpy(&last, bytes + size - sizeof(last), sizeof(last));  // overlaps first if size is below 8
    return std::uint64_t{first} << 32 | last;
}

}  // namespace

std::uint64_t hash_of(std::string_view word) noexcept {
    std::uint64_t h = word.size();
    const char* bytes = word.data();
    std::size_t left = word.size();
    for (; left > 8; left -= 8, bytes += 8) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, bytes, sizeof(eight));
        h = mix(h ^ eight);
    }
    if (left > 0) h = mix(h ^ tail_of(bytes, left));
    return mix(h);
}

std::size_t word_table::slot_of(std::string_view word, std::uint64_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (slots_[i].count != 0 && (slots_[i].hash != hash || slots_[i].word() != word)) i = (i + 1) & mask;
    return i;
}

void word_table::add(std::string_view word, std::uint64_t hash, std::uint64_t times) {
    if (2 * size_ >= slots_.size()) grow();
    entry& e = slots_[slot_of(word, hash)];
    if (e.count == 0) {
        e = entry{hash, 0, keep(word), word.size()};
        ++size_;
    }
    e.count += times;
}

std::uint64_t word_table::count_of(std::string_view word, std::uint64_t hash) const noexcept {
    return slots_.empty() ? 0 : slots_[slot_of(word, hash)].count;
}

void word_table::add_all(const word_table& other) {
    other.for_each([this](const entry& e) { add(e.word(), e.hash, e.count); });
}

void word_table::grow() {
    const std::vector<entry> old = std::exchange(slots_, std::vector<entry>(std::max(first_slots, 2 * slots_.size())));
    for (const entry& e : old) {
        if (e.count != 0) slots_[slot_of(e.word(), e.hash)] = e;
    }
}

const char* word_table::keep(std::string_view word) {
    if (word.size() > room_) {
        room_ = std::max(chunk_size, word.size());
        chunks_.push_back(std::make_unique_for_overwrite<char[]>(room_));
        free_ = chunks_.back().get();
    }
    std::memcpy(free_, word.data(), word.size());
    room_ -= word.size();
    return std::exchange(free_, free_ + word.size());
}

}  // namespace wordcount
