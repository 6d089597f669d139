// check.h: a check that fails the schedule.
#pragma once

#include <stdexcept>

namespace weft::test {

inline void check(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
}

}  // namespace weft::test
