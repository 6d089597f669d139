// call_on_stack_windows_x86_64.cc: see call_on_stack.h.
//
// Unwinding on Windows goes from lower frames to higher ones: RtlUnwindEx refuses a frame above the
// one that handles the exception. The other stack may lie above the caller's. So an exception is
// caught on the stack on which it is thrown, and thrown again on the caller's.
#include <exception>
#include <utility>

#include "base/assert.h"
#include "context/call_on_stack.h"

// As run_call_on_stack, but no exception may leave the function: context_windows_x86_64.S.
extern "C" void run_call_on_stack_no_throw(void* top, void (*function)(void* argument), void* argument);

namespace weft::detail {

namespace {

struct caught_call {
    void (*function)(void*);
    void* argument;
    std::exception_ptr thrown = nullptr;

    static void run(void* self) noexcept {
        auto& call = *static_cast<caught_call*>(self);
        try {
            call.function(call.argument);
        } catch (...) {
            call.thrown = std::current_exception();
            WEFT_ASSERT(call.thrown != nullptr);  // otherwise it is not of C++
        }
    }
};

}  // namespace

}  // namespace weft::detail

extern "C" void run_call_on_stack(void* top, void (*function)(void* argument), void* argument) {
    weft::detail::caught_call call{function, argument};
    run_call_on_stack_no_throw(top, &weft::detail::caught_call::run, &call);
    if (call.thrown != nullptr) std::rethrow_exception(std::move(call.thrown));
}
