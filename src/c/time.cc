// time.cc: sleeping, for C. See weft/run/time.h.
#include <weft/run/time.h>

#include <weft/time.h>

#include "c/status.h"

using namespace weft::detail;

run_status_t run_sleep_ns(int64_t ns) noexcept {
    return ns <= 0 ? RUN_OK : run_sleep_until_ns(deadline_of(ns));
}

run_status_t run_sleep_until_ns(int64_t deadline_ns) noexcept {
    return guarded_call([=] { sleep_until_ns(deadline_ns); });
}
