// server_usage.h: the resource use of another process so far, from /proc.
#pragma once

#include <cstdint>

namespace bench::net {

struct server_usage {
    int64_t cpu_ns = 0;    // of all its threads; running threads up to the last clock tick
    int64_t switches = 0;  // how often one of its threads slept, with nothing to do
};

struct server_memory {
    int64_t resident_bytes = 0;
    int64_t page_table_bytes = 0;
};

// Both end this process if the other one cannot be read because it has ended.
[[nodiscard]] server_usage read_usage(int64_t pid);
[[nodiscard]] server_memory read_server_memory(int64_t pid);

}  // namespace bench::net
