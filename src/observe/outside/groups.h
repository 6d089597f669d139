// groups.h: the green threads of a runtime, grouped as in a dump: those with the same state, wait
// reason, class, frames and place of start are one entry.
//
// Green threads that ran while they were read are read again. One that runs so often that this
// fails is counted without a stack.
//
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "observe/outside/green_threads.h"
#include "observe/outside/stacks.h"

namespace weft::observe::detail {

struct g_group {
    static constexpr std::size_t ids_max = 8;

    seen_g first;  // that with the lowest id
    const chain* frames = nullptr;
    std::string no_frames;  // why frames is nullptr
    uint64_t count = 0;
    int64_t oldest_ns = 0;  // the smallest and the largest since_ns; 0: unknown
    int64_t newest_ns = 0;
    std::vector<uint64_t> ids;  // the first, sorted
    bool same_name = true;
    bool same_labels = true;
    bool same_parent = true;
    const seen_m* on = nullptr;  // of one that runs or is in a call

    void add(const seen_g& g, green_threads& gs);
    void join(const g_group& other, green_threads& gs);
};

// nullptr of wanted: all. Those with the most members first; among equals, that with the smallest
// id.
[[nodiscard]] std::vector<g_group> groups_of(const seen_runtime& of,
                                             target_memory& memory,
                                             green_threads& gs,
                                             stacks& all_stacks,
                                             const std::function<bool(const seen_g&)>& wanted,
                                             bool grouped);

}  // namespace weft::observe::detail
