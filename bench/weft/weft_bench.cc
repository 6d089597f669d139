// weft_bench.cc: the suite over weft.
#include "weft_adapter.h"
#include "weft_entry.h"
#include "workload/suite.h"

namespace {

using bench::weft_adapter;
using bench::weft_forked;
using bench::weft_scoped;

constexpr bench::workload scoped[] = {
    {"fib_scoped", bench::run_fib<weft_scoped>},
    {"nqueens_scoped", bench::run_nqueens<weft_scoped>},
    {"uts_scoped", bench::run_uts<weft_scoped>},
    {"matmul_scoped", bench::run_matmul<weft_scoped>},
};

constexpr bench::workload forked[] = {
    {"fib_forked", bench::run_fib<weft_forked>},
    {"nqueens_forked", bench::run_nqueens<weft_forked>},
    {"uts_forked", bench::run_uts<weft_forked>},
    {"matmul_forked", bench::run_matmul<weft_forked>},
};

constexpr bench::workload entries[] = {
    {"entry", bench::run_entry},
};

}  // namespace

int main(int argc, char** argv) {
    using namespace bench;
    return suite_main<weft_adapter>(
        argc, argv,
        {basics<weft_adapter>, waking<weft_adapter>, sleeping<weft_adapter>, conditions<weft_adapter>,
         shared_locks<weft_adapter>, semaphores<weft_adapter>, forks<weft_adapter>, timers<weft_adapter>,
         selects<weft_adapter>, calls<weft_adapter>, hogs<weft_adapter>, crowds<weft_adapter>, scoped, forked,
         entries});
}
