// counters.h: what the server has done so far. Each is right by itself; together they are not of one instant.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace http_server {

struct counters {
    std::atomic<uint64_t> connections = 0;  // ever
    std::atomic<uint64_t> open = 0;         // now
    std::atomic<uint64_t> turned_away = 0;  // there were too many
    std::atomic<uint64_t> requests = 0;
    std::atomic<uint64_t> body_bytes_sent = 0;
    std::atomic<uint64_t> log_lines_lost = 0;
    std::array<std::atomic<uint64_t>, 6> answers = {};  // by the first digit of the status
};

}  // namespace http_server
