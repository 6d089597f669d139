// for_ever.h: waits for ever.
#pragma once

#include <weft/chan.h>

namespace weft::test {

// Waits until the caller is cancelled.
inline void wait_for_ever() { chan<int>::nil().recv(); }

}  // namespace weft::test
