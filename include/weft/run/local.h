// local.h: a pointer with a separate value in each green thread.
//
// Like pthread keys, for green threads: a value belongs to its green thread and follows it to other
// OS threads. It is initially NULL. When a green thread ends, the key's destructor is called for
// each value that is not NULL, newest key first, before threads that join the green thread
// continue. A destructor may use keys.
//
// Green threads only: a plain thread gets NULL and RUN_INVALID; use the language's thread-locals
// there. Any thread may create and delete keys.
//
// See: docs/c_api.md, docs/local.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_local_key run_local_key_t;

/// Makes a key. destructor may be NULL. RUN_EXHAUSTED if there is no memory.
run_status_t run_local_key_create(run_local_key_t** key, void (*destructor)(void* value)) RUN_NOEXCEPT;

/// Deletes the key, which must no longer be used. Destroys the caller's value; those of other green
/// threads are destroyed when they end.
run_status_t run_local_key_delete(run_local_key_t* key) RUN_NOEXCEPT;

/// The caller's value. O(1).
void* run_local_get(const run_local_key_t* key) RUN_NOEXCEPT;

/// Sets it without destroying the previous value. RUN_EXHAUSTED if there is no memory, possible
/// only for the first one.
run_status_t run_local_set(const run_local_key_t* key, void* value) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
