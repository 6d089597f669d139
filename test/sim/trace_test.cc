// trace_test.cc: a failing schedule is written as a trace. trace_check.py decodes what
// TheFileOfTheEnvironment writes.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "support/captured.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

void lose_an_update_by_name() {
    int x = 0;
    mutex m;
    wait_group both;
    for (const char* name : {"anna", "otto"}) {
        both.go([&x, &m, name] {
            this_g::set_name(name);
            sleep_for(1ms);
            m.lock();
            const int seen = x;
            m.unlock();
            m.lock();
            x = seen + 1;
            m.unlock();
        });
    }
    both.wait();
    if (x != 2) throw std::runtime_error("an update was lost");
}

std::string content_of(const std::filesystem::path& file) {
    std::ifstream from(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(from), {}};
}

TEST(SimulationTrace, HasTheStepsOfTheFailingSchedule) {
    const test::temp_folder folder;
    const std::string file = folder / "failure.pftrace";
    const sim::report r = sim::explore({.trace = file}, lose_an_update_by_name);
    ASSERT_EQ(r.result, sim::verdict::failed);
    const std::string bytes = content_of(file);
    for (const char* text : {"anna (trace_test.cc:", "otto (trace_test.cc:", "locks mutex #", "an update was lost",
                             "simulated time", "by default"})
        EXPECT_NE(bytes.find(text), std::string::npos) << text;
}

TEST(SimulationTrace, IsTheSameForTheSameSchedule) {
    const test::temp_folder folder;
    const std::string one = folder / "one";
    const std::string two = folder / "two";
    const sim::report r = sim::explore({.trace = one}, lose_an_update_by_name);
    ASSERT_FALSE(sim::replay(r.schedule, {.trace = two}, lose_an_update_by_name));
    EXPECT_EQ(content_of(one), content_of(two));
}

TEST(SimulationTrace, IsNotWrittenIfAllPass) {
    const test::temp_folder folder;
    const std::string file = folder / "failure.pftrace";
    ASSERT_TRUE(sim::explore({.schedules = 2, .trace = file}, [] {}));
    EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(SimulationTrace, SaysWhyItCannotBeWritten) {
    const test::temp_folder folder;
    const std::string file = folder / "none/failure.pftrace";
    const std::string said =
        test::stderr_of([&] { EXPECT_FALSE(sim::explore({.trace = file}, lose_an_update_by_name)); });
    EXPECT_EQ(said, "weft: cannot write the trace of a simulation to " + file + ": No such file or directory\n");
}

// With WEFT_SIM_TRACE, which trace_check.py sets.
TEST(SimulationTrace, TheFileOfTheEnvironment) {
    const char* file = std::getenv("WEFT_SIM_TRACE");
    ASSERT_FALSE(sim::explore({}, lose_an_update_by_name));
    EXPECT_TRUE(file == nullptr || std::filesystem::exists(file)) << file;
}

}  // namespace
}  // namespace weft
