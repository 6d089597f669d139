// main.cc: observe_costs: what it takes to export recordings and to look at many green threads.
//
//     observe_costs WORKLOAD --p P --n N
//
// Prints one line of JSON, as the other benchmarks do. Times are CPU times, unless their names end
// in _wall_s. bench/observe.py runs it.
#include <cstdio>

#include "costs.h"

namespace {

struct named_workload {
    const char* name;
    bench::measurement (*run)(const bench::run_arguments& arguments);
};

constexpr named_workload workloads[] = {
    {"export_pingpong", bench::run_export_pingpong},
    {"export_mixed", bench::run_export_mixed},
    {"dump", bench::run_dump},
    {"dump_delays_pingpong", bench::run_dump_delays_pingpong},
    {"dump_delays_hogs", bench::run_dump_delays_hogs},
    {"goroutine_profile", bench::run_goroutine_profile},
    {"page_state", bench::run_page_state},
};

}  // namespace

int main(int argc, char** argv) {
    const bench::run_arguments arguments = bench::parse_arguments(argc, argv);
    for (const named_workload& entry : workloads) {
        if (arguments.workload != entry.name) continue;
        entry.run(arguments).print("weft", "gcc " __VERSION__, arguments);
        return 0;
    }
    std::fprintf(stderr, "observe_costs: no workload '%s'; there are:", arguments.workload.c_str());
    for (const named_workload& entry : workloads) std::fprintf(stderr, " %s", entry.name);
    std::fputc('\n', stderr);
    return 2;
}
