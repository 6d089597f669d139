// million.h: a million green threads parked on one channel, and the cost of that. 05_million.cc is
// a shorter version to read.
#pragma once

#include <cstdint>
#include <string>

#include "progress.h"

namespace wordcount {

struct million_steps {
    double start_seconds = 0;    // until all were started
    double park_seconds = 0;     // from there until all waited on the channel
    double release_seconds = 0;  // from closing the channel until all had finished
};

struct million_facts {
    std::uint64_t wanted = 0;
    std::uint64_t count = 0;            // how many there was room for
    std::uint64_t available_bytes = 0;  // before the start
    std::uint64_t resident_bytes = 0;   // of all of them, parked
    std::uint64_t page_table_bytes = 0;
    million_steps first;     // the kernel must find and clear every page
    million_steps again;     // reuses the stacks of the first time
    std::string stopped_by;  // why no more could be started, if that happened
};

// Parks the wanted number of green threads, or as many as fit into the available memory, and
// releases them. Then does all of it a second time. Must be called from a green thread.
[[nodiscard]] million_facts park_and_release(std::uint64_t wanted, progress& shown);

}  // namespace wordcount
