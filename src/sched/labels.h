// labels.h: the labels of Gs: one shared block for each set, and which one a G has.
//
// A G holds a reference to its block. A dump reads the labels of Gs, also of one that runs and may drop its block just then. So
// whoever drops a block of a G first takes it away from the G and then looks whether the G is frozen, and waits until it is not:
//
//      G dropping                                  dump
//      1  takes the block out of the G             1  sets frozen
//      2  compiler fence                           2  heavy fence
//      3  frozen: waits until it is not            3  reads the block
//      4  releases the block                       4  clears frozen
//
// The heavy fence falls before G's step 1 or after it: before, G's step 3 sees the bit; after, the dump no longer sees the block.
//
// Who: the G itself, outside of the runtime, or who makes or discards it; describe_labels by a dump.
// See: weft/labels.h, docs/labels.md, src/debug/dump.cc
#pragma once

#include <cstddef>

#include <weft/labels.h>

namespace weft::detail {

struct G;

// g, which has no labels, gets those of from.
void inherit_labels(G* g, const G* from) noexcept;

// The labels of g; empty if it has none.
[[nodiscard]] label_set labels_of(const G& g) noexcept;

// g gets labels instead of those it has.
void replace_labels(G& g, label_set labels) noexcept;

// g is done with its labels, if it has any.
void drop_labels(G& g) noexcept;

// Writes "key=value, key=value" for g, which is frozen, or the caller, into text, which holds size bytes; cut with "…". Returns false,
// and writes nothing, if g has none.
bool describe_labels(const G& g, char* text, std::size_t size) noexcept;

}  // namespace weft::detail
