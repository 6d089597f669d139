// cpu_affinity.h: on which CPU a thread is, and how to move it to another one.
//
// Where a thread is the kernel itself writes into a word of its own (the cpu_id of restartable sequences, which the C library registers),
// so that to look at it costs a load. Where there is no such word nothing is known.
//
// Who: any thread, about any thread of this process.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::detail::os {

inline constexpr uint32_t cpus_max = 1024;  // those with higher numbers are left alone
inline constexpr uint32_t no_cpu = UINT32_MAX;

// The CPUs that a thread may run on.
struct cpu_mask {
    uint64_t words[cpus_max / 64] = {};

    bool operator==(const cpu_mask&) const = default;

    void add(uint32_t cpu) noexcept {
        if (cpu < cpus_max) words[cpu / 64] |= uint64_t{1} << (cpu % 64);
    }

    // So many CPUs.
    [[nodiscard]] uint32_t count() const noexcept {
        uint32_t n = 0;
        for (const uint64_t word : words) n += static_cast<uint32_t>(std::popcount(word));
        return n;
    }

    [[nodiscard]] bool has(uint32_t cpu) const noexcept {
        return cpu < cpus_max && (words[cpu / 64] >> (cpu % 64) & 1) != 0;
    }
};

// The calling thread's word, which is there as long as the thread; nullptr if it has none.
[[nodiscard]] const uint32_t* this_cpu_word() noexcept;

// The CPU that the thread of this word is on, or was last on; no_cpu if that is not known.
[[nodiscard]] uint32_t cpu_of(const uint32_t* word) noexcept;

// Of thread tid; 0: the calling one. False: there is no such thread, or a CPU with too high a number.
[[nodiscard]] bool read_cpu_mask(int tid, cpu_mask& mask) noexcept;
[[nodiscard]] bool write_cpu_mask(int tid, const cpu_mask& mask) noexcept;

// Moves the calling thread to this CPU, if it may run there: by allowing it that CPU only, and then what it was allowed before. It is there
// when this returns, and may be moved on at any time. False: it was not moved.
//
// What it was allowed before: the kernel keeps the mask that a thread asks for, and that of its cpuset, and lets it run where both say so.
// A thread that has asked for nothing follows its cpuset, also when that changes; and one that has asked for all CPUs does, too. So
// who could run on all CPUs of the cpuset asks for all; only who could not asks for what it had.
bool move_this_thread(uint32_t cpu) noexcept;

}  // namespace weft::detail::os
