// probe.h: places at which tracers of the system, such as bpftrace and perf, can look in.
//
// A probe is a no-operation in the code, and a note in the file that says where it is and where its
// arguments lie (USDT, the format of SystemTap). Arguments are read only while a tracer is
// attached: name only what lies in memory or in a register anyway, so that nothing is computed for
// them.
//
// Without <sys/sdt.h> at build time, and in models, there are no probes.
//
// See: docs/profiling.md#probes
#pragma once

#if defined(WEFT_HAS_PROBES)
#include <sys/sdt.h>
#define WEFT_PROBE1(name, a) DTRACE_PROBE1(weft, name, a)
#define WEFT_PROBE2(name, a, b) DTRACE_PROBE2(weft, name, a, b)
#define WEFT_PROBE3(name, a, b, c) DTRACE_PROBE3(weft, name, a, b, c)
#else
#define WEFT_PROBE1(name, a) static_cast<void>(0)
#define WEFT_PROBE2(name, a, b) static_cast<void>(0)
#define WEFT_PROBE3(name, a, b, c) static_cast<void>(0)
#endif
