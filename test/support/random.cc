#include "random.h"

#include <cstdio>
#include <random>

#include "procs_test.h"
#include "program_name.h"
#include "scale.h"

namespace weft::test {

uint64_t announced_seed() {
    const uint64_t seed = number_from_environment("WEFT_SEED", std::random_device()());
    std::printf("seed %llu; again: WEFT_SEED=%llu %s --gtest_filter=%s\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(seed), program_name(), current_test_name().c_str());
    std::fflush(stdout);  // survives a crash
    return seed;
}

}  // namespace weft::test
