// vmem.h: pages of memory, and stacks made of them.
//
// See: docs/c_api.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// Of run_stack_alloc: its size, with the guard; what of a growing stack is committed at first; the guard at its low end, rounded up to a
// page.
#define RUN_STACK_SIZE (64 * 1024)
#define RUN_STACK_INITIAL (8 * 1024)
#define RUN_GUARD_SIZE (4 * 1024)

typedef enum run_vmem_access RUN_INT_ENUM {
    RUN_VMEM_NONE = 0,
    RUN_VMEM_READ = 1,
    RUN_VMEM_READWRITE = 2,
} run_vmem_access_t;

// The size of a page. All sizes below are rounded up to it; addresses are multiples of it, else RUN_INVALID.
size_t run_vmem_page_size(void) RUN_NOEXCEPT;

// Reserves size bytes of address space that cannot be accessed and cost no memory. RUN_EXHAUSTED.
run_status_t run_vmem_reserve(void** address, size_t size) RUN_NOEXCEPT;

// Makes reserved pages readable and writable; they read as zero at first and cost memory once they are touched. RUN_EXHAUSTED.
run_status_t run_vmem_commit(void* address, size_t size) RUN_NOEXCEPT;

// Changes what may be done with pages. Their content stays. RUN_EXHAUSTED if the system has no room for another mapping.
run_status_t run_vmem_protect(void* address, size_t size, run_vmem_access_t access) RUN_NOEXCEPT;

// Gives address space, and what lies there, back. All of a reservation, or part of it.
run_status_t run_vmem_release(void* address, size_t size) RUN_NOEXCEPT;

// reserve and commit in one: size bytes of zeroed memory; NULL if there is none. What it returns goes to run_vmem_free.
void* run_vmem_alloc(size_t size) RUN_NOEXCEPT;
void run_vmem_free(void* address, size_t size) RUN_NOEXCEPT;

// reserve alone, for callers that want an address: NULL if there is none. For run_vmem_protect or run_vmem_commit, and run_vmem_free.
void* run_vmem_alloc_reserve(size_t size) RUN_NOEXCEPT;

// What a default stack of a green thread may use: of the caller's scheduler, or of the default one; if there is neither, of one that would
// be started now. RUN_STACK_MAX is that where neither options nor the environment's RUN_STACK_MAX say otherwise, in bytes.
#define RUN_STACK_MAX (256 * 1024)
size_t run_stack_max_size(void) RUN_NOEXCEPT;

// A stack for a context (context.h): RUN_STACK_SIZE bytes of which the lowest, RUN_GUARD_SIZE, fault. Returns its lowest address, so that
// its top is at RUN_STACK_SIZE beyond; NULL if there is none. run_stack_free(NULL) does nothing.
void* run_stack_alloc(void) RUN_NOEXCEPT;
void run_stack_free(void* stack) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
