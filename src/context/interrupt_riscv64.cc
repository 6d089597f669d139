// interrupt_riscv64.cc: called by the handler; see interrupt.h.
#include "context/interrupt.h"

extern "C" void run_interrupt_entry(void) { run_interrupted(); }
