// heap_overflow.cc: reads beyond the end of a memory block. The address sanitizer must end the
// program.
#include <cstdio>
#include <memory>

int main(int argc, char**) {
    const auto block = std::make_unique<char[]>(16);
    std::printf("%d\n", block[static_cast<unsigned>(15 + argc)]);
}
