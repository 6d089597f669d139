// descriptor_of.h: the descriptor of a file of the C library.
#pragma once

#include <cstdio>

namespace weft::test {

// Belongs to file. On Windows the C library's own number is another one (os/std_handles.h).
[[nodiscard]] int descriptor_of(std::FILE* file);

}  // namespace weft::test
