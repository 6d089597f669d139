// trace_file.h: a schedule as a trace of Perfetto.
//
// The tracks: what ran; one for each green thread, with a slice for each of its steps; and what
// happened beside steps, such as a lost packet.
//
// Most steps take no simulated time, so a viewer would show nothing. So each step takes 1 us of the
// trace, and what passes on the simulated clock is added. Each slice says the simulated time.
//
// Written by hand: the format is a few nested messages, and a library for it would be the only one
// that weft::sim needs. The recorder of weft::observe writes what really happened, from the events
// of the scheduler, which a simulation does not make.
//
// Threads: any.
// See:     docs/sim.md#as-a-picture
#pragma once

#include <string>

#include "sim/failure_text.h"

namespace weft::sim {

// Replaces the file. If that fails, one line on stderr says so. objects: with the numbers of the
// text of o.
void write_trace(const std::string& file, const outcome& o, object_numbers& objects, place_finder& places);

}  // namespace weft::sim
