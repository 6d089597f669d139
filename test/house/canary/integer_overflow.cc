// integer_overflow.cc: overflows a signed integer. The undefined-behaviour sanitizer must end the
// program.
#include <climits>
#include <cstdio>

int main(int argc, char**) {
    const int sum = INT_MAX - 1 + argc;
    std::printf("%d\n", sum + argc);
}
