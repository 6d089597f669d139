// scan_at_end.h: a scan for leaked green threads in states of a test in which none has leaked.
//
// procs_test calls it when green threads of a test have parked, and at the end of each test. It is
// nullptr, unless test/support/with_observe/scan_at_end.cc is linked and WEFT_TEST_SCAN is set.
#pragma once

#include <weft/runtime.h>

namespace weft::test {

extern void (*scan_for_leaks)(const runtime& rt);

}  // namespace weft::test
