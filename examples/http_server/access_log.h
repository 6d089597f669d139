// access_log.h: a line for each answer, in the common log format, written by one green thread for all.
//
// Connections hand their lines over by a channel and never wait for the disk, or for whoever reads our stdout. If the writer does not keep up
// for so long that the channel is full, lines are lost, and counted.
//
// Who: line() by any thread; the rest by the owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <weft/chan.h>
#include <weft/fs.h>
#include <weft/wait_group.h>

#include "counters.h"

namespace http_server {

struct log_entry {
    std::string_view client;  // its address
    std::string request_line;
    unsigned status;
    uint64_t body_bytes;
};

class access_log {
public:
    // To a file, which is appended to; "-" is stdout; "" is nowhere. Throws std::system_error.
    access_log(const std::string& path, counters& counted);

    // Has written everything then.
    ~access_log();

    access_log(const access_log&) = delete;
    access_log& operator=(const access_log&) = delete;

    [[nodiscard]] bool is_on() const noexcept { return file_.is_open(); }

    void line(const log_entry& entry);

private:
    void write_lines();

    weft::fs::file file_;
    weft::chan<std::string> lines_;
    weft::wait_group writer_;
    counters& counted_;
};

}  // namespace http_server
