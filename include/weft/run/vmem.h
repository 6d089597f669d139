// vmem.h: allocates pages of memory, and stacks made of them.
//
// See: docs/c_api.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// For run_stack_alloc: the size, including the guard; the initially committed part of a growing
// stack; the guard at the low end, rounded up to a page.
#define RUN_STACK_SIZE (64 * 1024)
#define RUN_STACK_INITIAL (8 * 1024)
#define RUN_GUARD_SIZE (4 * 1024)

typedef enum run_vmem_access RUN_INT_ENUM {
    RUN_VMEM_NONE = 0,
    RUN_VMEM_READ = 1,
    RUN_VMEM_READWRITE = 2,
} run_vmem_access_t;

/// The page size. All sizes below are rounded up to it; addresses must be multiples of it, else
/// RUN_INVALID.
size_t run_vmem_page_size(void) RUN_NOEXCEPT;

/// Reserves size bytes of address space, inaccessible and without memory cost. RUN_EXHAUSTED.
run_status_t run_vmem_reserve(void** address, size_t size) RUN_NOEXCEPT;

/// Makes reserved pages readable and writable. They are initially zero and cost memory once
/// touched. RUN_EXHAUSTED.
run_status_t run_vmem_commit(void* address, size_t size) RUN_NOEXCEPT;

/// Changes the access rights of pages and keeps their content. RUN_EXHAUSTED if the system has no
/// room for another mapping.
run_status_t run_vmem_protect(void* address, size_t size, run_vmem_access_t access) RUN_NOEXCEPT;

/// Releases address space and its content: a whole reservation or a part.
run_status_t run_vmem_release(void* address, size_t size) RUN_NOEXCEPT;

/// Reserve and commit in one call: size bytes of zeroed memory; NULL on failure. Release it with
/// run_vmem_free.
void* run_vmem_alloc(size_t size) RUN_NOEXCEPT;
void run_vmem_free(void* address, size_t size) RUN_NOEXCEPT;

/// Reserve only, returning the address; NULL on failure. For run_vmem_protect or run_vmem_commit,
/// and run_vmem_free.
void* run_vmem_alloc_reserve(size_t size) RUN_NOEXCEPT;

// The usable size of a green thread's default stack, in the caller's scheduler or the default one;
// if there is neither, in one that would be started now. RUN_STACK_MAX is that size in bytes if
// neither options nor the environment's RUN_STACK_MAX set it.
#define RUN_STACK_MAX (256 * 1024)
size_t run_stack_max_size(void) RUN_NOEXCEPT;

/// A stack for a context (context.h): RUN_STACK_SIZE bytes, of which the lowest RUN_GUARD_SIZE
/// fault. Returns its lowest address, so its top is RUN_STACK_SIZE higher; NULL on failure.
/// run_stack_free(NULL) does nothing.
void* run_stack_alloc(void) RUN_NOEXCEPT;
void run_stack_free(void* stack) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
