// trace_pc.cc: what code compiled with -fsanitize-coverage=trace-pc calls at each edge of its control flow, loops included.
//
// For compilers and processors without split-stack prologues, and for loops without calls. An ordinary call for the compiler, so
// nothing has to be kept but errno, which the hook does.
#include <weft/run/preempt.h>

#include "context/preempt_word.h"

namespace {

[[gnu::constructor]] void announce() { run_preempt_announce(); }

// One instruction where there is one.
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
