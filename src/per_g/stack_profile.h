// stack_profile.h: stack depths of green threads, by the place where they are started.
//
// The table has a fixed size, because it is written at a G's end, in the runtime, which cannot
// allocate. Places beyond places_max share the last row.
//
// Locks:   lock_ (leaf).
// Threads: any thread.
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

class stack_profile {
public:
    static constexpr std::size_t places_max = 256;

    // waiting: bytes of frames; 0: not seen waiting. touched: how many bytes of the stack were
    // used.
    void note(const source_location& where, std::size_t waiting, std::size_t touched) noexcept;

    // Deepest rows first. Returns the number of all rows.
    [[nodiscard]] std::size_t copy(std::span<stack_use_at> into) noexcept;

private:
    spin_lock lock_;
    // Guarded by lock_.
    std::size_t count_ = 0;
    stack_use_at rows_[places_max];
};

}  // namespace weft::detail
