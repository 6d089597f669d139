// million.h: a million green threads parked on one channel, and what that takes. 05_million.cc is the same, to be read.
#pragma once

#include <cstdint>
#include <string>

#include "progress.h"

namespace wordcount {

struct million_steps {
    double start_seconds = 0;    // until all had been started
    double park_seconds = 0;     // from there until all were waiting on the channel
    double release_seconds = 0;  // from closing the channel until all had finished
};

struct million_facts {
    std::uint64_t wanted = 0;
    std::uint64_t count = 0;            // how many there was room for
    std::uint64_t available_bytes = 0;  // before
    std::uint64_t resident_bytes = 0;   // of all of them, parked
    std::uint64_t page_table_bytes = 0;
    million_steps first;     // the kernel has to find and clear every page
    million_steps again;     // the stacks of the first time are used again
    std::string stopped_by;  // why no more could be started, if that happened
};

// Parks as many as were wanted, or as the available memory holds, and releases them; then all of it once more. Call
// it from a green thread.
[[nodiscard]] million_facts park_and_release(std::uint64_t wanted, progress& shown);

}  // namespace wordcount
