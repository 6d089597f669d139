// 36_contention.cc: green threads that queue for one lock, found by a recording. docs/observing.md
// explains it.
//
// needs: weft::observe
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include <weft/observe/recorder.h>
#include <weft/trace.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

weft::mutex table_lock;
std::map<int, std::string> table;

// Wrong: it keeps the lock while it asks another machine.
void refresh(int key) {
    const weft::trace::region region("refresh");
    const std::lock_guard hold(table_lock);
    weft::sleep_for(2ms);  // asks another machine
    table[key] = "fresh";
}

int main() {
    return weft::main({.procs = 2}, [] {
        const weft::observe::recorder recorder({.stack_every = 1});  // each wait with its stack
        weft::wait_group all;
        for (int key = 0; key < 20; ++key) {
            all.go({.name = "refresh"}, [key] { refresh(key); });
        }
        all.wait();
        // What was waited for, and where; how the time of the region was spent.
        std::istringstream summary(recorder.snapshot().summary());
        for (std::string line; std::getline(summary, line);) {
            const bool is_of_lock = line.find("mutex lock") != std::string::npos;
            const bool is_of_region =
                line.find("  refresh ") != std::string::npos || line.find("  region ") != std::string::npos;
            const bool is_of_stack = line.find(" at 36_contention.cc:") != std::string::npos;
            if (is_of_lock || is_of_region || is_of_stack) std::puts(line.c_str());
        }
    });
}
