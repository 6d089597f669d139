// code_mappings.h: the mappings of this process that contain code, with the build ids of their
// files.
//
// Threads: any thread. Not in a signal handler: it reads a file, and takes locks of the dynamic
//          linker.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail::os {

struct code_mapping {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;  // in the file
    const char* path;
    const unsigned char* build_id;  // nullptr: it has none
    std::size_t build_id_size;
};

// Calls each for every one, in the order of addresses. What it is given is valid during the call.
// each may throw. Returns false if the system does not say it.
bool for_each_code_mapping(void (*each)(void* closure, const code_mapping& m), void* closure);

}  // namespace weft::detail::os
