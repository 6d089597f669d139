// labels.h: the labels of Gs: a shared block for each set.
//
// A dump reads the block of a G even while the G runs and may drop it. So the G drops it in steps:
//
//      G dropping                                  dump
//      1  takes the block out of the G             1  sets frozen
//      2  compiler fence                           2  heavy fence
//      3  frozen: waits until it is not            3  reads the block
//      4  releases the block                       4  clears frozen
//
// Either step 3 of the G sees the bit, or the dump finds no block.
//
// Threads: the G, outside the runtime, or the thread that makes or discards it; describe_labels: a
//          dump.
// See:     weft/labels.h, docs/labels.md, src/debug/dump.cc
#pragma once

#include <cstddef>

#include <weft/labels.h>

namespace weft::detail {

struct G;

// Requires: g has no labels.
void inherit_labels(G* g, const G* from) noexcept;

[[nodiscard]] label_set labels_of(const G& g) noexcept;

void replace_labels(G& g, label_set labels) noexcept;

void drop_labels(G& g) noexcept;

// Writes "key=value, key=value" into text, of size bytes; cut with "…". g is frozen, or the caller.
// False: g has no labels.
bool describe_labels(const G& g, char* text, std::size_t size) noexcept;

// Writes those that fit as a whole: key, 0, value, 0 … Returns the bytes. g is frozen, or the
// caller's.
std::size_t pack_labels(const G& g, char* text, std::size_t size) noexcept;

// As labels_of. g is frozen, or runs on the calling thread, which may be in a signal handler.
// Allocates nothing.
[[nodiscard]] label_set share_labels(const G& g) noexcept;

}  // namespace weft::detail
