// server_usage.h: what another process has used so far, from /proc.
#pragma once

#include <cstdint>

namespace bench::net {

struct server_usage {
    int64_t cpu_ns = 0;    // of all its threads; of those that run just now, up to the last tick of the clock
    int64_t switches = 0;  // how often a thread of it had nothing to do, and slept
};

struct server_memory {
    int64_t resident_bytes = 0;
    int64_t page_table_bytes = 0;
};

// Both end this process where the other one cannot be read, as it has ended.
[[nodiscard]] server_usage read_usage(int64_t pid);
[[nodiscard]] server_memory read_server_memory(int64_t pid);

}  // namespace bench::net
