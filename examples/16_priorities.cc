// 16_priorities.cc: three priorities, and priority inheritance.
//
// {.priority = …} puts a green thread into one of three classes. High ones run before all others,
// low ones when nothing else is runnable, but none starves. A low one that holds a mutex inherits
// the priority of its most urgent waiter. The program uses one processor, so that there is a
// definite order.
//
// Prints:
//     answered, answered, answered
//     worked, worked, worked
//     tidied up
//     the high one ran before the others were done
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>

#include <weft/weft.h>

namespace {

void in_order_of_importance() {
    std::string answers;
    std::string works;
    std::string tidied;
    weft::wait_group all;
    const auto add = [](std::string& to, const char* what) { to += (to.empty() ? "" : ", ") + std::string(what); };
    all.go({.priority = weft::priority::low}, [&] { tidied = answers + "\n" + works + "\ntidied up"; });
    for (int i = 0; i < 3; ++i) {
        all.go([&] { add(works, "worked"); });
        all.go({.priority = weft::priority::high}, [&] { add(answers, "answered"); });
    }
    all.wait();
    std::puts(tidied.c_str());
}

// A low green thread holds a mutex that a high one needs, and a crowd of normal ones keeps the low
// one from running. Without inheritance, it would run about once per 60 turns of theirs. With the
// waiter's priority, it runs first.
void a_class_is_lent() {
    weft::wait_group all;
    weft::mutex table;
    bool is_waited_for = false;
    int crowd_left = 5;
    all.go({.priority = weft::priority::low}, [&] {
        const std::lock_guard hold(table);
        while (!is_waited_for) weft::yield();
        for (int i = 0; i < 200; ++i) weft::yield();  // work that takes many turns
    });
    weft::sleep_for(std::chrono::milliseconds(1));  // the low one is alone: it locks the table
    for (int i = 0; i < 5; ++i) {
        all.go([&] {
            for (int turn = 0; turn < 1000; ++turn) weft::yield();
            --crowd_left;
        });
    }
    all.go({.priority = weft::priority::high}, [&] {
        is_waited_for = true;
        const std::lock_guard hold(table);
        std::printf("the high one ran %s the others were done\n", crowd_left != 0 ? "before" : "after");
    });
    all.wait();
}

}  // namespace

int main() {
    return weft::main({.procs = 1}, [] {
        in_order_of_importance();
        a_class_is_lent();
    });
}
