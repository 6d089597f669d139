// big_stack.cc: see weft/run/big_stack.h.
#include <weft/big_stack.h>
#include <weft/run/big_stack.h>

#include "c/status.h"

static_assert(RUN_BIG_STACK_SIZE == weft::big_stack_size);

run_status_t run_on_big_stack(void (*fn)(void* arg), void* arg, size_t size) noexcept {
    if (fn == nullptr) return RUN_INVALID;
    return weft::detail::guarded_call(
        [&] { weft::detail::call_on_big_stack(size == 0 ? weft::big_stack_size : size, fn, arg); });
}

size_t run_stack_left(void) noexcept { return weft::this_g::stack_left(); }
