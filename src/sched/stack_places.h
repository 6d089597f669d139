// stack_places.h: how deep green threads use their stacks, by the place where they are started.
//
// A table of fixed size, since it is written at the end of a G, in the runtime, which must not
// allocate. Places beyond places_max share the last row.
//
// Locks:   lock_ (leaf).
// Threads: any.
// See:     docs/stacks.md, src/debug/stack_use.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <weft/debug.h>
#include <weft/detail/source_location.h>
#include <weft/detail/spin_lock.h>

namespace weft::detail {

struct stack;

class stack_places {
public:
    static constexpr std::size_t places_max = 256;

    // Counts a green thread that was started at `where`: it waited with that many bytes of frames
    // (0: was not seen waiting), on a stack touched that deep.
    void note(const source_location& where, std::size_t waiting, std::size_t touched) noexcept;

    // Copies the deepest rows that fit, deepest first. Returns the number of all rows.
    [[nodiscard]] std::size_t copy(std::span<stack_use_at> into) noexcept;

private:
    spin_lock lock_;
    // Guarded by lock_.
    std::size_t count_ = 0;
    stack_use_at rows_[places_max];
};

}  // namespace weft::detail
