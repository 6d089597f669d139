// closed_now.h: a channel that is closed.
#pragma once

#include <weft/chan.h>

namespace weft::test {

inline chan<int> closed_now(chan<int> c) {
    c.close();
    return c;
}

}  // namespace weft::test
