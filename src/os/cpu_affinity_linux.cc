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
    return cpu < cpus_max ? cpu : no_cpu;                          // not registered: a negative number
}

bool read_cpu_mask(int tid, cpu_mask& mask) noexcept {
    mask = {};
    return sched_getaffinity(tid, sizeof(mask), reinterpret_cast<cpu_set_t*>(&mask)) == 0;
}

bool write_cpu_mask(int tid, const cpu_mask& mask) noexcept {
    return sched_setaffinity(tid, sizeof(mask), reinterpret_cast<const cpu_set_t*>(&mask)) == 0;
}

bool move_this_thread(uint32_t cpu) noexcept {
    cpu_mask mask;
    if (!read_cpu_mask(0, mask) || !mask.has(cpu)) return false;
    cpu_mask one;
    one.words[cpu / 64] = uint64_t{1} << (cpu % 64);
    return write_cpu_mask(0, one) && write_cpu_mask(0, mask);
}

}  // namespace weft::detail::os
