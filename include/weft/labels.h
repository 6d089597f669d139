// labels.h: a small set of keys and values that describe a green thread's work; shown in dumps,
// like Go's profiler labels.
//
//     weft::this_g::set_label("request", id);
//     weft::go([] { … });                                                     // inherits it
//     weft::go({.name = "writer", .labels = {{"file", path}}}, [] { … });     // and has one more
//
// Sets are immutable and shared by green threads, so inheriting one costs a counter. Changing a
// label makes a new set.
//
// Threads: any thread.
// See: docs/labels.md
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <weft/detail/require.h>

namespace weft {

namespace detail {
struct label_block;
void retain_labels(label_block* b) noexcept;
void release_labels(label_block* b) noexcept;
}  // namespace detail

struct label {
    std::string_view key;
    std::string_view value;
};

/// A value type, cheap to copy. Holds copies of keys and values. Of two labels with the same key
/// the later one counts.
class label_set {
public:
    label_set() noexcept = default;

    /// Throws std::bad_alloc.
    label_set(std::initializer_list<label> labels);  // NOLINT(google-explicit-constructor): for spawn_options

    label_set(const label_set& other) noexcept : block_(other.block_) {
        if (block_ != nullptr) detail::retain_labels(block_);
    }

    label_set(label_set&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}

    label_set& operator=(label_set other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }

    ~label_set() {
        if (block_ != nullptr) detail::release_labels(block_);  // NOLINT(clang-analyzer-cplusplus.NewDelete): counted
    }

    [[nodiscard]] bool empty() const noexcept { return block_ == nullptr; }

    [[nodiscard]] std::size_t size() const noexcept;

    /// Label i, i < size(), in the order in which keys were added. The text belongs to the set.
    [[nodiscard]] label operator[](std::size_t i) const noexcept;

    /// The value of key; empty without one. O(size).
    [[nodiscard]] std::string_view find(std::string_view key) const noexcept;

    /// This set plus the labels of more, which override equal keys. Throws std::bad_alloc.
    [[nodiscard]] label_set with(const label_set& more) const;
    [[nodiscard]] label_set with(std::string_view key, std::string_view value) const;

private:
    friend struct detail::label_block;

    detail::label_block* block_ = nullptr;  // nullptr: no labels
};

}  // namespace weft
