// integer_overflow.cc: adds one too many. The undefined-behaviour sanitizer has to end it.
#include <climits>
#include <cstdio>

int main(int argc, char**) {
    const int sum = INT_MAX - 1 + argc;
    std::printf("%d\n", sum + argc);
}
