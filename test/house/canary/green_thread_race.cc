// green_thread_race.cc: two green threads on one processor write to a variable, and nothing orders
// them but the scheduler. Their switches must not hide the race from ThreadSanitizer.
#include <weft/weft.h>

int main() {
    weft::runtime rt({.procs = 1});
    int shared = 0;
    rt.run([&] {
        weft::wait_group done;
        for (const char* name : {"first", "second"}) {
            done.go({.name = name}, [&] {
                ++shared;
                weft::yield();
            });
        }
        done.wait();
    });
    return shared == 2 ? 0 : 1;
}
