// 01_hello.cc: starts four green threads and waits for them.
//
// weft::main runs its body as the first green thread (G) of the process. go() starts more, and a
// wait_group waits for them. The scheduler decides which G runs first, so each G stores its
// greeting in its own element. The main G prints the greetings when all are done.
//
// As in Go, the program ends when the body of weft::main returns, even if other Gs have not
// finished. The call of wait() below is therefore necessary.
//
// Prints:
//     hello from green thread 0
//     hello from green thread 1
//     hello from green thread 2
//     hello from green thread 3
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <weft/weft.h>

int main() {
    return weft::main([] {
        std::vector<std::string> greetings(4);

        weft::wait_group done;
        for (std::size_t i = 0; i < greetings.size(); ++i) {
            done.go([&greetings, i] { greetings[i] = "hello from green thread " + std::to_string(i); });
        }
        done.wait();

        for (const std::string& greeting : greetings) std::puts(greeting.c_str());
    });
}
