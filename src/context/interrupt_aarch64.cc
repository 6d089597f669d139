// interrupt_aarch64.cc: see interrupt.h: the handler calls it.
#include "context/interrupt.h"

extern "C" void run_interrupt_entry(void) { run_interrupted(); }
