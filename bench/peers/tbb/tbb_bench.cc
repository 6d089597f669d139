// tbb_bench.cc: the programs of fork_join.h over oneTBB, a library made for them.
//
// global_control limits it to P threads, including the calling one. Each fork is a group of tasks;
// the last part runs in place. Tasks have no stack of their own and can wait only for their
// children, so it supports nothing else of the suite.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include "workload/suite.h"

namespace {

struct tbb_tasks {
    static const char* peer() { return "tbb"; }

    static std::string version() {
        return "oneTBB " + std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR) +
               ", gcc " __VERSION__;
    }

    template <typename Body>
    static void run(int p, Body body) {
        const tbb::global_control threads(tbb::global_control::max_allowed_parallelism, static_cast<size_t>(p));
        body();
    }

    template <typename F, typename G>
    static void fork_two(F f, G g) {
        tbb::task_group group;
        group.run(std::move(f));
        g();
        group.wait();
    }

    template <typename F>
    static void fork_each(int64_t count, F f) {
        if (count == 0) return;
        tbb::task_group group;
        for (int64_t i = 0; i < count - 1; ++i) group.run([&f, i] { f(i); });
        f(count - 1);
        group.wait();
    }
};

}  // namespace

int main(int argc, char** argv) { return bench::suite_main<tbb_tasks>(argc, argv, {bench::forks<tbb_tasks>}); }
