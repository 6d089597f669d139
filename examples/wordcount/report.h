// report.h: prints the results, for a person or for a program.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <weft/debug.h>

#include "measure.h"
#include "million.h"
#include "options.h"
#include "ways.h"

namespace wordcount {

struct way {
    std::string_view name;
    cost took;
};

struct findings {
    options asked;
    settings how;
    result counted;  // its words are cleared before it is printed; see the next two members
    std::size_t different_words = 0;
    std::vector<word_count> top;
    std::array<way, 3> ways;      // serial first
    cost warm_up;                 // reading everything once
    bool fits_in_memory = true;   // so that later reads come from the page cache
    double busy_with_others = 0;  // fraction of the machine's processor time that other programs used
    unsigned rounds = 1;          // how often everything was counted, because the tree changed
    weft::stats_snapshot green;   // what the pipeline added to the runtime's counters
    std::optional<million_facts> million;
};

// Two functions, so that a person sees the counts while the million green threads start.
void print_counts(const findings& f);
void print_million(const million_facts& m);

void print_json(const findings& f);

}  // namespace wordcount
