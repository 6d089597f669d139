// trace_pc.cc: the function that code compiled with -fsanitize-coverage=trace-pc calls at each
// control flow edge, loops included.
//
// For compilers and processors without split-stack prologues, and for loops without calls. The
// compiler sees an ordinary call, so only errno must be kept; the hook does that.
#include <weft/run/preempt.h>

#include "context/preempt_word.h"

namespace {

[[gnu::constructor]] void announce() { run_preempt_announce(); }

// One instruction where possible.
[[gnu::always_inline]] inline bool is_asked() noexcept {
#if defined(WEFT_SPLIT_STACK_WORD)
    bool set = false;
    asm volatile("cmpq $0, %%fs:0x70" : "=@ccne"(set));
    return set;
#else
    return __atomic_load_n(&run_preempt_word, __ATOMIC_RELAXED) != 0;
#endif
}

}  // namespace

extern "C" [[gnu::visibility("hidden")]] void __sanitizer_cov_trace_pc(void) {
    if (is_asked()) [[unlikely]]
        run_preempt_hook();
}
