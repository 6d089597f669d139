// word_table.h: counts how often each word occurs.
//
// An open-addressing hash table with linear probing, at most half full. The table owns the bytes of
// the words, in chunks. Adding a known word allocates nothing, and moving a table moves a few
// pointers, so tables are cheap to send through a channel. The caller computes the hash, because it
// also selects the table if there are several.
//
// Threads: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace wordcount {

// A 64-bit hash of a word. Not safe against words that an attacker chooses.
[[nodiscard]] std::uint64_t hash_of(std::string_view word) noexcept;

class word_table {
public:
    struct entry {
        std::uint64_t hash = 0;
        std::uint64_t count = 0;  // 0: a free slot
        const char* bytes = nullptr;
        std::size_t size = 0;

        [[nodiscard]] std::string_view word() const noexcept { return {bytes, size}; }
    };

    // Adds times occurrences of word. hash must be hash_of(word). Throws std::bad_alloc.
    void add(std::string_view word, std::uint64_t hash, std::uint64_t times = 1);

    // How often word was added.
    [[nodiscard]] std::uint64_t count_of(std::string_view word, std::uint64_t hash) const noexcept;

    // Adds all words of other, with their counts.
    void add_all(const word_table& other);

    // The number of different words.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    // Calls visit(const entry&) for every word, in an unspecified order.
    template <typename F>
    void for_each(F&& visit) const {
        for (const entry& e : slots_) {
            if (e.count != 0) visit(e);
        }
    }

private:
    static constexpr std::size_t first_slots = 1024;
    static constexpr std::size_t chunk_size = std::size_t{64} * 1024;

    // The slot that holds word, or the free slot for it.
    [[nodiscard]] std::size_t slot_of(std::string_view word, std::uint64_t hash) const noexcept;
    void grow();
    const char* keep(std::string_view word);

    std::vector<entry> slots_;  // their number is a power of two, or 0
    std::size_t size_ = 0;
    std::vector<std::unique_ptr<char[]>> chunks_;
    std::size_t room_ = 0;  // free bytes at the end of the last chunk
    char* free_ = nullptr;  // where they begin
};

}  // namespace wordcount
