// memory_map.h: the mappings of this process, read without allocating.
//
// Invariants: I1. Mappings are in order of their addresses and do not overlap.
// Threads:    one; also the child of a fork.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::observe::detail {

struct memory_mapping {
    uintptr_t low = 0;
    uintptr_t high = 0;
    bool writable = false;
    bool readable = false;
    bool shared = false;
    bool anonymous = false;   // no file behind it
    bool in_memory = false;   // a file that is only memory: of memfd_create, /dev/shm, shared anonymous
    bool main_heap = false;   // [heap]
    bool main_stack = false;  // [stack]
};

// Pages of its own, zeroed, which are not counted as used until they are touched. nullptr: none.
[[nodiscard]] void* map_zeroed(std::size_t size) noexcept;

// An array in such pages, which never grows and is never freed.
template <typename T>
class page_array {
public:
    // False: there is no memory.
    [[nodiscard]] bool reserve(std::size_t capacity) noexcept {
        items_ = static_cast<T*>(map_zeroed(capacity * sizeof(T) + 1));
        capacity_ = items_ == nullptr ? 0 : capacity;
        return items_ != nullptr;
    }

    // False: it is full.
    bool add(const T& item) noexcept {
        if (size_ == capacity_) return false;
        items_[size_++] = item;
        return true;
    }

    [[nodiscard]] T& operator[](std::size_t i) noexcept { return items_[i]; }

    [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return items_[i]; }

    [[nodiscard]] T* begin() noexcept { return items_; }

    [[nodiscard]] T* end() noexcept { return items_ + size_; }

    [[nodiscard]] const T* begin() const noexcept { return items_; }

    [[nodiscard]] const T* end() const noexcept { return items_ + size_; }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    [[nodiscard]] bool is_full() const noexcept { return size_ == capacity_; }

    void pop() noexcept { --size_; }

private:
    T* items_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

// False: /proc/self/maps cannot be read, or has more lines than into has room for.
[[nodiscard]] bool read_memory_map(page_array<memory_mapping>& into) noexcept;

// Which pages of this process exist, so that a scan does not touch the others.
class page_table_reader {
public:
    page_table_reader() noexcept;
    ~page_table_reader();
    page_table_reader(const page_table_reader&) = delete;
    page_table_reader& operator=(const page_table_reader&) = delete;

    // Whether the page at this address is in memory or swapped out, and may be read.
    [[nodiscard]] bool exists(uintptr_t address) noexcept;

private:
    static constexpr std::size_t entries = 512;

    int fd_;
    uintptr_t first_ = ~uintptr_t{0};  // number of the page of known_[0]
    std::size_t count_ = 0;
    uint64_t known_[entries];
};

}  // namespace weft::observe::detail
