// cpu_affinity_linux.cc: see cpu_affinity.h.
#include <sched.h>

#include <cstddef>

#include "os/cpu_affinity.h"

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

namespace weft::detail::os {

static_assert(sizeof(cpu_mask) == sizeof(cpu_set_t));

#if __has_include(<sys/rseq.h>)

const uint32_t* this_cpu_word() noexcept {
    if (__rseq_size == 0) return nullptr;  // not registered
    const auto* area = static_cast<const std::byte*>(__builtin_thread_pointer()) + __rseq_offset;
    return &reinterpret_cast<const struct rseq*>(area)->cpu_id;
}

#else

const uint32_t* this_cpu_word() noexcept { return nullptr; }

#endif

uint32_t cpu_of(const uint32_t* word) noexcept {
    if (word == nullptr) return no_cpu;
    const uint32_t cpu = __atomic_load_n(word, __ATOMIC_RELAXED);  // written by the kernel
    return cpu < cpus_max ? cpu : no_cpu;                          // negative: not registered
}

bool read_cpu_mask(int tid, cpu_mask& mask) noexcept {
    mask = {};
    return sched_getaffinity(tid, sizeof(mask), reinterpret_cast<cpu_set_t*>(&mask)) == 0;
}

bool write_cpu_mask(int tid, const cpu_mask& mask) noexcept {
    return sched_setaffinity(tid, sizeof(mask), reinterpret_cast<const cpu_set_t*>(&mask)) == 0;
}

bool move_this_thread(uint32_t cpu) noexcept {
    cpu_mask before;
    if (!read_cpu_mask(0, before) || !before.has(cpu)) return false;
    cpu_mask all;
    for (uint64_t& word : all.words) word = ~uint64_t{0};
    cpu_mask widest;
    const bool had_all = write_cpu_mask(0, all) && read_cpu_mask(0, widest) && before == widest;
    cpu_mask one;
    one.add(cpu);
    const bool moved = write_cpu_mask(0, one);
    // The cpuset may have changed and contain none of the previous CPUs.
    const bool free_again = write_cpu_mask(0, had_all ? all : before) || write_cpu_mask(0, all);
    return moved && free_again;
}

}  // namespace weft::detail::os
