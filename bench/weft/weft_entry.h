// weft_entry.h: the price that every operation pays to enter and leave the runtime.
//
// Measured on the scheduler's own functions, as inlined into each operation. Excludes the lookup of
// the thread's M, and the operation itself.
#pragma once

#include "sched/switch.h"
#include "workload/measurement.h"
#include "workload/samples.h"

namespace bench {

// Alternating batches of enter() and leave(), and of an empty loop, N times each. ns_per_op is the
// median difference.
inline measurement run_entry(const run_arguments& arguments) {
    using namespace weft::detail;
    constexpr int64_t batch = 10'000;
    const int64_t batches = 1 + arguments.n / batch;
    samples difference(batches);
    for (int64_t i = 0; i < batches; ++i) {
        M* m = current_g_m();
        int64_t entered = 0;
        const int64_t begin = now_ns();
        for (int64_t j = 0; j < batch; ++j) {
            entered += enter(m) ? 1 : 0;
            leave(m);
        }
        const int64_t middle = now_ns();
        for (int64_t j = 0; j < batch; ++j) asm volatile("" ::: "memory");
        difference.add((middle - begin) - (now_ns() - middle));
        check(entered == batch, "entry: the P stays if no thread waits for it");
    }

    measurement result;
    result.add_per_op("ns_per_op", difference.percentile(0.5), batch);
    return result;
}

}  // namespace bench
