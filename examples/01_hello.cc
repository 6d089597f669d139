// 01_hello.cc: green threads that say hello.
//
// What one learns: weft::main turns its body into the first green thread (G) of the process; go() starts more; a
// wait_group waits for them. Which G speaks first is the scheduler's choice, so each writes into a place of its own and
// the lines are printed when all are done.
//
// As in Go, the program ends when the body of weft::main returns, whether or not other Gs have finished: hence the wait()
// below.
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
