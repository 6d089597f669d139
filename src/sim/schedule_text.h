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
#include <cstdio>
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

// The same in pieces: put(const char*). Does not allocate.
template <typename Put>
void put_text(const schedule& s, Put put) {
    put("w1.");
    uint64_t next = 0;
    for (const deviation& d : s) {
        char text[48];
        const auto skipped = static_cast<unsigned long long>(d.at - next);
        if (d.option == 1) {
            std::snprintf(text, sizeof(text), next == 0 ? "%llu" : ",%llu", skipped);
        } else {
            std::snprintf(text, sizeof(text), next == 0 ? "%llu:%u" : ",%llu:%u", skipped, d.option);
        }
        put(text);
        next = d.at + 1;
    }
}

// Throws std::invalid_argument.
[[nodiscard]] schedule parse_schedule(std::string_view text);

}  // namespace weft::sim
