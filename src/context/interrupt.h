// interrupt.h: diverts an interrupted green thread to other code and resumes it unchanged.
//
// A signal handler has stopped a green thread between two instructions, and resumes it in
// run_interrupt_entry, on its own stack. That calls run_interrupted(), then restores all registers.
//
//   x86-64    The handler skips the red zone, pushes the interrupted pc and returns to
//             run_interrupt_entry.
//   Windows   There are no signals. Another thread stops this one, pushes the interrupted pc, and
//             lets it go on in run_diverted, which saves all registers and calls the handler. The
//             handler calls run_interrupt_entry.
//   others    No register is free for the final jump. So the handler calls run_interrupt_entry, and
//             runs on the green thread's stack itself.
// See: os/interrupt_signal.h for the handler's part
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Called only by a handler.
void run_interrupt_entry(void);

#if defined(_WIN32)
// No one calls it. (rsp) is the interrupted pc, and all registers are live.
void run_diverted(void);

// By run_diverted. sp: that of the interrupted code.
void run_handle_diverted(uintptr_t sp);
#endif

// The scheduler's. May switch; returns on the same thread.
void run_interrupted(void);

// The method of save_vectors_x86_64.h: 0 FXSAVE, 1 XSAVE, 2 XSAVEC.
extern uint32_t run_vector_form;
}

namespace weft::detail {

// Stack for an interruption and the scheduler's work in it.
inline constexpr std::size_t interruption_room = 12 * 1024;

}  // namespace weft::detail
