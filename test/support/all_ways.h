// all_ways.h: the ways to make a blocking call.
#pragma once

#include <weft/blocking.h>

namespace weft::test {

inline constexpr hand_off all_ways[] = {hand_off::learned, hand_off::at_once, hand_off::late};

}  // namespace weft::test
