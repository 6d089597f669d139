// labels.h: the labels of Gs: a shared block for each set.
//
// A G holds a reference to its block. A dump reads it, even if the G runs and may drop it. So a G
// that drops its block first takes it away, then waits while it is frozen:
//
//      G dropping                                  dump
//      1  takes the block out of the G             1  sets frozen
//      2  compiler fence                           2  heavy fence
//      3  frozen: waits until it is not            3  reads the block
//      4  releases the block                       4  clears frozen
//
// The heavy fence falls before the G's step 1, and step 3 sees the bit; or after, and the dump
// finds no block.
//
// Threads: the G, outside the runtime, or the thread that makes or discards it; describe_labels: a
// dump.
// See:     weft/labels.h, docs/labels.md, src/debug/dump.cc
#pragma once

#include <cstddef>

#include <weft/labels.h>

namespace weft::detail {

struct G;

// Gives g, which has no labels, those of `from`.
void inherit_labels(G* g, const G* from) noexcept;

// The labels of g; may be empty.
[[nodiscard]] label_set labels_of(const G& g) noexcept;

// Replaces the labels of g.
void replace_labels(G& g, label_set labels) noexcept;

// Drops the labels of g, if any.
void drop_labels(G& g) noexcept;

// Writes "key=value, key=value" into text, of size bytes; cut with "…". g is frozen, or the caller.
// False, and nothing written: g has no labels.
bool describe_labels(const G& g, char* text, std::size_t size) noexcept;

}  // namespace weft::detail
