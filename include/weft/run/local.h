// local.h: a pointer of which each green thread has its own.
//
// As pthread keys, for green threads: a value belongs to the green thread and stays with it when it goes on on another OS thread. It is
// NULL at first. When a green thread ends, the key's destructor is called for each value that is not NULL, the newest key first, before
// whoever joins the green thread goes on; a destructor may use keys.
//
// Green threads only: a plain thread gets NULL and RUN_INVALID, and has the language's thread-locals. Keys may be made and deleted by any
// thread.
//
// See: docs/c_api.md, docs/local.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_local_key run_local_key_t;

// Makes a key. destructor may be NULL. RUN_EXHAUSTED if there is no memory.
run_status_t run_local_key_create(run_local_key_t** key, void (*destructor)(void* value)) RUN_NOEXCEPT;

// Deletes it. Nobody may use it any more. The caller's value is destroyed; those of other green threads are when they end.
run_status_t run_local_key_delete(run_local_key_t* key) RUN_NOEXCEPT;

// The caller's value. O(1).
void* run_local_get(const run_local_key_t* key) RUN_NOEXCEPT;

// Sets it. The value that was there is not destroyed. RUN_EXHAUSTED if there is no memory, possible for the first one only.
run_status_t run_local_set(const run_local_key_t* key, void* value) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
