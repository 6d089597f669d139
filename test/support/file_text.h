// file_text.h: reads a file.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace weft::test {

// Everything in a file; empty if it cannot be read.
inline std::string file_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace weft::test
