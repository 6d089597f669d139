// program.cc: a program whose sanitizer the library is not built with; mixed_sanitizers.py runs it.
#include <cstdio>

#include <weft/weft.h>

int main() {
    return weft::main([] {
        std::puts("it runs");
        return 0;
    });
}
