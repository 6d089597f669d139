// top_terminal.h: the terminal of `weft top`.
//
//     q  ends            up, down, page up, page down, home, end   choose a row
//     s  other order     enter    the stacks of that row; escape or enter: back
//     v  other rows      space    stop reading, and go on
//
// Threads: one.
#pragma once

#include <chrono>

#include "json_value.h"
#include "top_screen.h"

// What is shown.
class top_source {
public:
    top_source() = default;
    top_source(const top_source&) = delete;
    top_source& operator=(const top_source&) = delete;
    virtual ~top_source() = default;

    // weft.state/1. Throws std::runtime_error.
    virtual json_value state() = 0;

    // Groups in the form of a dump, at least those of the row. Throws std::runtime_error.
    virtual json_value stacks(const top_filter& which) = 0;
};

struct top_settings {
    std::chrono::milliseconds every{1000};
    top_view view = top_view::sites;
    top_order order = top_order::count;
};

// Until the user ends it. Throws std::runtime_error if there is no terminal, or no ncurses.
int show_in_terminal(top_source& from, const top_settings& settings);
