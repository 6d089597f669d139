// labels.h: the labels of Gs: one shared block for each set, and the block of a G.
//
// A G holds a reference to its block. A dump reads the labels of Gs, even of one that runs and may
// drop its block. So a block is dropped in two steps: it is taken from the G, then released while
// the G is not frozen:
//
//      G dropping                                  dump
//      1  takes the block out of the G             1  sets frozen
//      2  compiler fence                           2  heavy fence
//      3  frozen: waits until it is not            3  reads the block
//      4  releases the block                       4  clears frozen
//
// The heavy fence falls before G's step 1, and G's step 3 sees the bit; or after it, and the dump
// does not see the block.
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

// Writes "key=value, key=value" for g, which is frozen or the caller, into text, which has size
// bytes; cut with "…". Returns false, and writes nothing, if g has no labels.
bool describe_labels(const G& g, char* text, std::size_t size) noexcept;

}  // namespace weft::detail
