// schedule_text.h: a schedule as a text.
//
// A schedule is the list of choices that differ from the default, which is 0: go on with the green
// thread that runs, or take the one that waits longest. Each has the number of its choice, counted
// from the one after the last in the list. Example: "w1.12:2,30" takes option 2 at the 13th choice,
// and option 1, which is not written, at the 31st choice after that.
//
// Shrinking removes entries, so short schedules are the readable ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::sim {

struct deviation {
    uint64_t at;      // the number of the choice
    uint32_t option;  // not 0

    friend bool operator==(const deviation&, const deviation&) = default;
};

using schedule = std::vector<deviation>;  // by increasing `at`

[[nodiscard]] std::string to_text(const schedule& s);

// Throws std::invalid_argument.
[[nodiscard]] schedule parse_schedule(std::string_view text);

}  // namespace weft::sim
