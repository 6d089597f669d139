// failure_text.h: what a schedule did, in words.
//
// Threads: any.
// See:     docs/sim.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <weft/sim/sim.h>

#include "sim/controlled_run.h"
#include "sim/lock_order.h"
#include "sim/places.h"
#include "sim/schedule_text.h"
#include "sim/strategies.h"

namespace weft::sim {

// How a schedule ended, with what was kept of it.
struct outcome {
    verdict result = verdict::passed;
    std::string reason;
    schedule taken;
    std::vector<step_record> records;
    std::vector<g_record> green_threads;
    lock_order::inversion locks{};
    bool is_repeatable = true;  // it may be run again
};

// Numbers for objects, in the order of their first use.
class object_numbers {
public:
    std::size_t of(const void* object) {
        return object == nullptr ? 0 : numbers_.try_emplace(object, numbers_.size() + 1).first->second;
    }

private:
    std::map<const void*, std::size_t> numbers_;
};

// "anna", or "green thread 2".
[[nodiscard]] std::string name_of_g(uint32_t number, const g_record& g);

// "locks mutex #2".
[[nodiscard]] std::string text_of_operation(const candidate& step, object_numbers& objects);

// "anna locks mutex #2".
[[nodiscard]] std::string text_of(const candidate& step, const outcome& o, object_numbers& objects);

// The same with its place, and with what would run by default. Or what happened beside steps.
[[nodiscard]] std::string text_of(const step_record& step,
                                  const outcome& o,
                                  object_numbers& objects,
                                  place_finder& places);

// A line for each step. Of a long run only the begin and the end, and what is not a step.
[[nodiscard]] std::string text_of(const outcome& o, object_numbers& objects, place_finder& places);

// Of an inversion: what each green thread holds and wants.
[[nodiscard]] std::string text_of_locks(const outcome& o, object_numbers& objects, place_finder& places);

}  // namespace weft::sim
