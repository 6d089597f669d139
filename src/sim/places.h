// places.h: where in the program a step of a simulation is.
//
// The frames of a step are read only while a failure is repeated for its text (controlled_run). The
// innermost one of the program gives the place. It takes weft::observe, which reads debug
// information. Without lines there is no place: names of functions, which depend on what the
// compiler has expanded, say less than the names of green threads.
//
// Each address is asked once in the life of the process, because an answer takes a process
// (symbol_service.h).
//
// Threads: any.
// See:     docs/sim.md
#pragma once

#include <span>
#include <string>

#include "symbols/symbolizer.h"

namespace weft::sim {

class place_finder {
public:
    // "file.cc:12", or nothing. frames: innermost first, resume addresses.
    [[nodiscard]] std::string of(std::span<const void* const> frames);

private:
    [[nodiscard]] const std::string& of_program(const void* frame);

    weft::detail::symbolizer names_;
};

}  // namespace weft::sim
