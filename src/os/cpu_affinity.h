// cpu_affinity.h: which CPU a thread is on, and how to move it to another.
//
// The kernel itself writes a thread's CPU into a word of that thread (cpu_id of restartable
// sequences, which the C library registers), so reading it costs a load. Without such a word the
// CPU is unknown.
//
// Threads: any thread, about any thread of this process.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::detail::os {

inline constexpr uint32_t cpus_max = 1024;  // CPUs with higher numbers are not used
inline constexpr uint32_t no_cpu = UINT32_MAX;

// The CPUs that a thread may run on.
struct cpu_mask {
    uint64_t words[cpus_max / 64] = {};

    bool operator==(const cpu_mask&) const = default;

    void add(uint32_t cpu) noexcept {
        if (cpu < cpus_max) words[cpu / 64] |= uint64_t{1} << (cpu % 64);
    }

    // The number of CPUs.
    [[nodiscard]] uint32_t count() const noexcept {
        uint32_t n = 0;
        for (const uint64_t word : words) n += static_cast<uint32_t>(std::popcount(word));
        return n;
    }

    [[nodiscard]] bool has(uint32_t cpu) const noexcept {
        return cpu < cpus_max && (words[cpu / 64] >> (cpu % 64) & 1) != 0;
    }
};

// The calling thread's word, which lives as long as the thread; nullptr if it has none.
[[nodiscard]] const uint32_t* this_cpu_word() noexcept;

// The CPU that this word's thread is on, or was last on; no_cpu if unknown.
[[nodiscard]] uint32_t cpu_of(const uint32_t* word) noexcept;

// For thread tid; 0: the calling one. Return false if the thread does not exist, or a CPU number is
// too high.
[[nodiscard]] bool read_cpu_mask(int tid, cpu_mask& mask) noexcept;
[[nodiscard]] bool write_cpu_mask(int tid, const cpu_mask& mask) noexcept;

// Moves the calling thread to this CPU, if it may run there: allows it only that CPU, and then
// restores the previous mask. On return it is there, but may be moved at any time. Returns false if
// it was not moved.
//
// Restoring the mask. The kernel keeps the mask that a thread asks for and that of its cpuset, and
// uses their intersection. A thread without a mask of its own follows its cpuset, including later
// changes, and so does one that has asked for all CPUs. So if the thread could run on all CPUs of
// the cpuset, it asks for all; otherwise it asks for its previous mask.
bool move_this_thread(uint32_t cpu) noexcept;

}  // namespace weft::detail::os
