// stack_places.h: how deep the stacks of green threads were used, for each place where they are started.
//
// A table of fixed size: nothing is allocated where it is written, which is at the end of a G, in the runtime. Places beyond places_max
// share the last row.
//
// Locks: lock (leaf). Who: any thread.
// See:   docs/stacks.md, src/debug/stack_use.cc
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

    // A green thread that was started at where was found waiting with so many bytes of frames (0: it was not), on a stack that had been
    // touched so deep.
    void note(const source_location& where, std::size_t waiting, std::size_t touched) noexcept;

    // Copies as many rows as there is room for, the deepest first. Returns how many there are.
    [[nodiscard]] std::size_t copy(std::span<stack_use_at> into) noexcept;

private:
    spin_lock lock_;
    // Guarded by lock_.
    std::size_t count_ = 0;
    stack_use_at rows_[places_max];
};

}  // namespace weft::detail
