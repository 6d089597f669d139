// counters.h: what the server has done so far. Each counter is exact; together they are not a
// consistent snapshot.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace http_server {

struct counters {
    std::atomic<uint64_t> connections = 0;  // since the start
    std::atomic<uint64_t> open = 0;         // at the moment
    std::atomic<uint64_t> turned_away = 0;  // because there were too many
    std::atomic<uint64_t> requests = 0;
    std::atomic<uint64_t> body_bytes_sent = 0;
    std::atomic<uint64_t> log_lines_lost = 0;
    std::array<std::atomic<uint64_t>, 6> answers = {};  // by the first digit of the status
};

}  // namespace http_server
