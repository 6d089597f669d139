// owner.h: the recorded holder of a lock: a green thread or a plain thread.
//
// Threads: any thread. See: src/sync/owner.cc
#pragma once

#include <cstdint>

#include <weft/detail/require.h>

namespace weft::detail {

struct owner {
    const void* who;  // never nullptr; unique among living threads of both kinds
    int64_t number;   // shown in reports: the id of a green thread, or minus the tid of a plain one
};

// The caller.
[[nodiscard]] owner current_owner() noexcept;

// "green thread 7" or "a plain thread (tid 4711)".
struct owner_text {
    explicit owner_text(int64_t number) noexcept;
    char text[48];
};

}  // namespace weft::detail
