// report.h: what is printed at the end, for a person or for a program.
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
    result counted;  // its words are no longer there when it is printed; they are in:
    std::size_t different_words = 0;
    std::vector<word_count> top;
    std::array<way, 3> ways;      // serial first
    cost warm_up;                 // reading everything once
    bool fits_in_memory = true;   // so that the second reading comes from the page cache
    double busy_with_others = 0;  // what part of the machine's processor time other programs took meanwhile
    unsigned rounds = 1;          // how often all was counted, because the tree changed meanwhile
    weft::stats_snapshot green;   // what the pipeline added to the runtime's counts
    std::optional<million_facts> million;
};

// In two steps for a person, so that the result is there while the million is on its way.
void print_counts(const findings& f);
void print_million(const million_facts& m);

void print_json(const findings& f);

}  // namespace wordcount
