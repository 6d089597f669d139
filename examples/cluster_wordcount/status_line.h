// status_line.h: a line on the terminal about a count that runs, rewritten five times a second.
//
// A green thread writes it, to stderr, if that is a terminal. Otherwise nothing is written.
#pragma once

#include <functional>
#include <string>

#include "coordinator.h"

namespace cluster_wordcount {

// Calls f, with the line on the terminal meanwhile.
void with_status_line(const std::string& what, coordinator& of, const std::function<void()>& f);

}  // namespace cluster_wordcount
