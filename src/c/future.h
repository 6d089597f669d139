// future.h: the type behind run_future_t.
//
// See: weft/run/future.h
#pragma once

#include <cstdint>

#include <weft/detail/atomic.h>
#include <weft/detail/cancel.h>
#include <weft/detail/count_word.h>
#include <weft/run/future.h>

struct run_future {
    run_future() noexcept : context(nullptr, weft::detail::never) { pending.increment(); }

    void retain() noexcept { references.fetch_add(1, weft::detail::relaxed); }  // relaxed: the caller holds a reference

    void drop() noexcept {
        if (references.fetch_sub(1, weft::detail::acq_rel) == 1) delete this;  // acq_rel: pairs with other drops
    }

    weft::detail::count_word pending;  // 1 until the function has ended
    weft::detail::cancel_context context;
    weft::detail::atomic<const void*> fulfiller{nullptr};  // while the function runs
    void* result = nullptr;                                // written before pending is zero
    weft::detail::atomic<uint32_t> references{1};
};
