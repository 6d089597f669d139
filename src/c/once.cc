// once.cc: see weft/run/once.h.
#include <new>

#include <weft/once.h>
#include <weft/run/once.h>

#include "c/status.h"

using weft::once_flag;

static_assert(sizeof(once_flag) <= sizeof(run_once_t) && alignof(once_flag) <= alignof(run_once_t));

run_status_t run_once(run_once_t* once, void (*fn)(void*), void* arg) noexcept {
    if (once == nullptr || fn == nullptr) return RUN_INVALID;
    // An unused flag is all zeros, as RUN_ONCE_INIT is.
    auto& flag = *std::launder(reinterpret_cast<once_flag*>(once));
    return weft::detail::guarded_call([&] { weft::call_once(flag, fn, arg); });
}
