// closed_now.h: makes a closed channel.
#pragma once

#include <weft/chan.h>

namespace weft::test {

inline chan<int> closed_now(chan<int> c) {
    c.close();
    return c;
}

}  // namespace weft::test
