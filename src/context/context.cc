// context.cc: a stack's first frame, for all ABIs whose stacks grow downwards.
//
//      stack_top, 16-byte aligned ──▶ ┌────────────────────┐
//                                     │ 0                  │  +24  ends frame-pointer walks
//                                     │ run_g_exit         │  +16  where entry returns to
//                                     │ argument           │  +8
//                        context.sp ──▶ entry              │  +0   popped by run_context_entry
//                                     └────────────────────┘
#include "context/context.h"

#include <cstdint>

namespace {

struct first_frame {
    void (*entry)(void*, void*);
    void* argument;
    void (*after)(void);
    void* end_of_frames;
};

static_assert(sizeof(first_frame) == 32, "run_context_entry pops these four words");
static_assert(sizeof(first_frame) % 16 == 0, "the stack stays aligned");

}  // namespace

extern "C" void run_context_init(run_context_t* ctx, void* stack_top, void (*entry)(void*, void*), void* argument) {
    auto top = reinterpret_cast<uintptr_t>(stack_top) & ~uintptr_t{15};
    auto* frame = reinterpret_cast<first_frame*>(top - sizeof(first_frame));
    *frame = first_frame{entry, argument, &run_g_exit, nullptr};
    ctx->pc = reinterpret_cast<void*>(&run_context_entry);
    ctx->fp = nullptr;
    // Last: a concurrent reader sees no context, or a complete one.
    __atomic_store_n(&ctx->sp, frame, __ATOMIC_RELEASE);
}
