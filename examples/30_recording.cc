// 30_recording.cc: a flight recorder: which request was slow, and what it waited for.
//
// needs: weft::observe
//
//   30_recording                  says what the slow request waited for
//   30_recording slow.weftrec     writes the recording to a file, for `weft trace`
#include <chrono>
#include <cstdio>
#include <mutex>
#include <sstream>
#include <string>

#include <weft/observe/recorder.h>
#include <weft/trace.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

void serve(int number, weft::mutex& table) {
    const weft::trace::region request("request");
    weft::sleep_for(1ms);  // parse
    const weft::trace::region looked_up("look up");
    const std::lock_guard hold(table);
    if (number == 3) weft::trace::log("request 3 has the lock");
    weft::sleep_for(1ms);
}

// Holds the lock for too long.
void tidy_up(weft::mutex& table) {
    const std::lock_guard hold(table);
    weft::sleep_for(50ms);
}

void print_waits(const std::string& path) {
    std::istringstream lines(path);
    for (std::string line; std::getline(lines, line);) {
        if (line.find("waits:") != std::string::npos) std::printf("%s\n", line.c_str());
    }
}

int main(int argc, char** argv) {
    return weft::main({.procs = 1}, [&] {
        const weft::observe::recorder recorder;
        weft::mutex table;
        for (int number = 1; number <= 3; ++number) {
            if (number == 3) weft::go({.name = "tidy_up"}, [&] { tidy_up(table); });
            const auto began = std::chrono::steady_clock::now();
            weft::async({.name = "request"}, [&] { serve(number, table); }).get();
            if (std::chrono::steady_clock::now() - began < 20ms) continue;

            std::printf("request %d was slow\n", number);
            const weft::observe::recording last = recorder.snapshot(1s);
            if (argc > 1) last.write(argv[1]);
            print_waits(last.critical_path("request"));
        }
    });
}
