// for_ever.h: waiting for what never comes.
#pragma once

#include <weft/chan.h>

namespace weft::test {

// Until the caller is cancelled.
inline void wait_for_ever() { chan<int>::nil().recv(); }

}  // namespace weft::test
