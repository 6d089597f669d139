// current.cc: see current.h. Nothing else may live in this file, so that nothing is inlined together with the accessor.
#include "sched/current.h"

namespace weft::detail {

namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local M* this_m = nullptr;

}  // namespace

[[gnu::noinline]] M* current_m() noexcept {
    asm volatile("");  // keeps the call from being folded into another one
    return this_m;
}

[[gnu::noinline]] void set_current_m(M* m) noexcept {
    asm volatile("");
    this_m = m;
}

}  // namespace weft::detail
