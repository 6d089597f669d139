// hooks_user.cc: a foreign program that uses the component hooks. A hundred sleeps take as long as
// one.
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include <weft/weft.h>

int main() {
    return weft::main([]() -> int {
        const auto before = std::chrono::steady_clock::now();
        weft::wait_group all;
        for (int i = 0; i < 100; ++i) all.go([] { usleep(100'000); });
        all.wait();
        const bool at_once = std::chrono::steady_clock::now() - before < std::chrono::seconds(5);
        std::puts(at_once ? "the sum of the first hundred squares is 338350" : "the sleeps have blocked OS threads");
        return at_once ? 0 : 1;
    });
}
