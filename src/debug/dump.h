// dump.h: writes what every green thread of a runtime does.
//
// Threads: any thread. See: dump.cc
#pragma once

#include <weft/debug.h>

namespace weft::detail {

class monitor;
struct scheduler;

// writer: the caller, if it is s's monitor, which checks its Ps while it writes.
void dump_scheduler(scheduler& s, int fd, const dump_options& options = {}, monitor* writer = nullptr) noexcept;

}  // namespace weft::detail
