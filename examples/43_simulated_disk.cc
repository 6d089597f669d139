// 43_simulated_disk.cc: a program whose settings are lost in a crash, tested on a disk in memory.
//
// To replace a file, the program writes another one and renames it. The rename may reach the disk
// before the content does. If the computer crashes then, the settings are neither the old nor the
// new ones. The corrected program syncs the new file before it renames it, and the directory then.
//
// In the simulation each call takes a millisecond, and the schedule chooses when the host crashes
// and what its disk has kept.
//
// needs: weft::sim
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <weft/fs.h>
#include <weft/sim/disk.h>
#include <weft/sim/network.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

using namespace std::chrono_literals;
namespace fs = weft::fs;

// ---- The program. It knows nothing of simulations.

void save(const std::string& settings, bool fixed) {
    fs::file f("/conf.new", {.mode = fs::access::write, .create = true, .truncate = true});
    f.write_all(settings);
    if (fixed) f.sync();
    fs::rename("/conf.new", "/conf");
    if (fixed) fs::file("/").sync();
}

// ---- The test.

void test(bool fixed) {
    const weft::sim::network net;
    const weft::sim::host server = net.add_host("server");
    weft::sim::disk(server).set({.latency = 1ms});
    bool has_settings = false;
    server.go([&] {
        save("color=red", true);
        has_settings = true;
        save("color=blue", fixed);
    });
    weft::sleep_for(weft::sim::choose(10) * 1ms);
    server.crash();
    weft::sleep_for(1s);
    server.restart();
    if (!has_settings) return;
    std::string found;
    weft::event done;
    server.go([&] {
        found = fs::read_file("/conf");
        done.set();
    });
    done.wait();
    if (found != "color=red" && found != "color=blue") throw std::runtime_error("the settings are \"" + found + "\"");
}

int main() {
    const weft::sim::report broken = weft::sim::explore({}, [] { test(false); });
    std::printf("%s\n", broken.text().c_str());
    const weft::sim::report fixed = weft::sim::explore({}, [] { test(true); });
    std::printf("corrected: %s\n", fixed.text().c_str());
}
