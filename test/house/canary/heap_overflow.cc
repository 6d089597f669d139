// heap_overflow.cc: reads behind a block of memory. The address sanitizer has to end it.
#include <cstdio>
#include <memory>

int main(int argc, char**) {
    const auto block = std::make_unique<char[]>(16);
    std::printf("%d\n", block[static_cast<unsigned>(15 + argc)]);
}
