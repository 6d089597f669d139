// preempt_word.cc: see preempt_word.h.
#include "context/preempt_word.h"

#if !defined(WEFT_SPLIT_STACK_WORD)
extern "C" {
[[gnu::used,
  gnu::visibility("default"),
  gnu::tls_model("initial-exec")]] constinit thread_local uintptr_t run_preempt_word = 0;
}
#endif
