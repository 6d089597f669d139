// demo.h: the demonstration: a broker and workers on this machine, some of which are killed.
#pragma once

#include <chrono>
#include <string>

#include "coordinator.h"

namespace cluster_wordcount {

// Counts with four workers; kills one after a third of the bytes, and kills and restarts the broker
// after two thirds. Then counts with one, two and four workers without failures. Prints the times,
// and whether all results are that of a serial count. Returns that. Throws broker_error. Ends all
// that it has started, and removes its folder, however it ends.
[[nodiscard]] bool demonstrate(const count_options& how, std::chrono::milliseconds patience);

// Counts serially. Describes what differs; empty if nothing does.
[[nodiscard]] std::string difference_to_serial(const std::string& root, const wordcount::result& counted);

}  // namespace cluster_wordcount
