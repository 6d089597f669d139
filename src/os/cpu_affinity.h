// cpu_affinity.h: which CPU a thread is on, and how to move it to another.
//
// The kernel writes a thread's CPU into a word of the thread (cpu_id of restartable sequences,
// which the C library registers), so reading it costs a load.
//
// Threads: any thread, about any thread of this process.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::detail::os {

inline constexpr uint32_t cpus_max = 1024;  // higher numbers are not used
inline constexpr uint32_t no_cpu = UINT32_MAX;

struct cpu_mask {
    uint64_t words[cpus_max / 64] = {};

    bool operator==(const cpu_mask&) const = default;

    void add(uint32_t cpu) noexcept {
        if (cpu < cpus_max) words[cpu / 64] |= uint64_t{1} << (cpu % 64);
    }

    [[nodiscard]] uint32_t count() const noexcept {
        uint32_t n = 0;
        for (const uint64_t word : words) n += static_cast<uint32_t>(std::popcount(word));
        return n;
    }

    [[nodiscard]] bool has(uint32_t cpu) const noexcept {
        return cpu < cpus_max && (words[cpu / 64] >> (cpu % 64) & 1) != 0;
    }
};

// The word lives as long as the thread; nullptr if there is no word.
[[nodiscard]] const uint32_t* this_cpu_word() noexcept;

// The CPU that the word's thread was last on; no_cpu if unknown.
[[nodiscard]] uint32_t cpu_of(const uint32_t* word) noexcept;

// tid 0 is the calling thread. Return false if the thread does not exist, or a CPU number is too
// high.
[[nodiscard]] bool read_cpu_mask(int tid, cpu_mask& mask) noexcept;
[[nodiscard]] bool write_cpu_mask(int tid, const cpu_mask& mask) noexcept;

// Moves the calling thread to this CPU, if it may run there, and keeps its mask. The kernel may
// move it away at any time. Returns false if it was not moved.
//
// The kernel intersects the mask that a thread asks for with its cpuset. A thread without a mask of
// its own follows changes of the cpuset, and so does one that has asked for all CPUs. So a thread
// that could run on the whole cpuset is given back all CPUs, any other its previous mask.
bool move_this_thread(uint32_t cpu) noexcept;

}  // namespace weft::detail::os
