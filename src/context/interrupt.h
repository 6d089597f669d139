// interrupt.h: going on in other code than the interrupted one, and coming back as if nothing had been.
//
// A signal handler has stopped a green thread between two instructions. It lets it go on in run_interrupt_entry, on its own stack, which
// calls run_interrupted() (the scheduler's), and then continues where the signal came in, with every register and flag as it was.
//
//   x86-64    the handler leaves the red zone alone, pushes the interrupted pc and returns to run_interrupt_entry, which saves and restores
//             by itself: the handler has ended by then, on the alternate stack it ran on.
//   others    no register is free for the last jump back, so the handler itself calls run_interrupt_entry, which is run_interrupted;
//             what the kernel has saved in the signal's frame is the interrupted state. It lies on the green thread's own stack, so
//             such a handler has no alternate one.
//
// See: os/interrupt_signal.h for the handler's half
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Not for calling, but by a handler.
void run_interrupt_entry(void);

// Defined by the scheduler. May switch; returns on the same thread.
void run_interrupted(void);

// x86-64: how save_vectors_x86_64.h saves: 0 FXSAVE, 1 XSAVE, 2 XSAVEC.
extern uint32_t run_vector_form;
}

namespace weft::detail {

// Stack that an interruption takes, with what the scheduler does then.
inline constexpr std::size_t interruption_room = 12 * 1024;

}  // namespace weft::detail
