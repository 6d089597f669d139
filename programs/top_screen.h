// top_screen.h: what `weft top` shows, made of the states that it has read: weft.state/1 of
// docs/page.md. A field that a state lacks is shown as "-", because a process that is read from
// outside says less than a page.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "json_value.h"

enum class top_view { sites, states, labels, objects };
enum class top_order { count, oldest, name };

// How one chooses the green threads of a row.
struct top_filter {
    top_view view = top_view::sites;
    std::string file;  // of sites
    unsigned line = 0;
    std::string text;  // of the others: a state or wait, labels, a wait
};

struct top_row {
    std::string text;
    top_filter which;
};

struct top_screen {
    std::vector<std::string> head;
    std::string columns;
    std::vector<top_row> rows;
    std::string left_out;  // a last line; or empty
};

// before: an earlier state, for figures per second; null: there is none.
[[nodiscard]] top_screen make_screen(const json_value& now, const json_value& before, top_view view, top_order order);

// The groups of a row, in the form of a dump. all: the array of groups of weft.dump/1 or weft.ps/1.
[[nodiscard]] std::vector<std::string> stacks_of(const json_value& all, const top_filter& which);

[[nodiscard]] const char* text_of(top_view view) noexcept;
[[nodiscard]] const char* text_of(top_order order) noexcept;
