// 30_recording.cc: a flight recorder: which request was slow, and what it waited for.
//
// needs: weft::observe
//
//   30_recording                  prints the events of the slow request
//   30_recording slow.pftrace     writes a file for ui.perfetto.dev
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
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

void print_lines_of(const std::string& name, const std::string& path) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.find(" " + name) != std::string::npos) std::printf("%s\n", line.c_str());
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
            if (argc > 1) {
                last.write_perfetto(argv[1]);
                continue;
            }
            const auto path = std::filesystem::temp_directory_path() / "weft_30_recording.txt";
            last.write_text(path);
            print_lines_of("tidy_up", path);
            std::filesystem::remove(path);
        }
    });
}
