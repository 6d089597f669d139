#include "million.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <utility>

#include <weft/weft.h>

#include "../process_memory.h"
#include "measure.h"

namespace wordcount {

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point& last) {
    const clock::time_point before = std::exchange(last, clock::now());
    return std::chrono::duration<double>(last - before).count();
}

std::uint64_t rise(std::uint64_t before, std::uint64_t after) { return after - std::min(before, after); }

// Runs the three steps. Calls look() while all green threads are parked. If there is no room for
// count of them, it starts fewer, sets count and says why.
million_steps steps_with(std::uint64_t& count,
                         std::string& stopped_by,
                         progress& shown,
                         const std::function<void()>& look) {
    const weft::chan<int> gate;  // nothing is ever sent on it
    weft::wait_group arrived;
    weft::wait_group finished;
    million_steps took;

    shown.begin("starting a crowd of green threads");
    clock::time_point last = clock::now();
    std::uint64_t started = 0;
    try {
        for (; started < count; ++started) {
            arrived.add();
            finished.go([&] {
                arrived.done();
                gate.recv();
            });
        }
    } catch (const std::exception& e) {
        arrived.done();  // for the G that was not started
        count = started;
        stopped_by = e.what();
    }
    took.start_seconds = seconds_since(last);
    arrived.wait();
    took.park_seconds = seconds_since(last);

    look();
    shown.begin("releasing them");
    last = clock::now();
    gate.close();
    finished.wait();
    took.release_seconds = seconds_since(last);
    return took;
}

}  // namespace

million_facts park_and_release(std::uint64_t wanted, progress& shown) {
    million_facts facts;
    const meter memory_given_back;
    facts.wanted = wanted;
    facts.available_bytes = process_memory::available_bytes();
    facts.count = process_memory::count_that_fits(wanted, facts.available_bytes);

    const std::uint64_t resident = process_memory::resident_bytes();
    const std::uint64_t tables = process_memory::page_table_bytes();
    facts.first = steps_with(facts.count, facts.stopped_by, shown, [&] {
        facts.resident_bytes = rise(resident, process_memory::resident_bytes());
        facts.page_table_bytes = rise(tables, process_memory::page_table_bytes());
    });
    facts.again = steps_with(facts.count, facts.stopped_by, shown, [] {});
    shown.end();
    return facts;
}

}  // namespace wordcount
