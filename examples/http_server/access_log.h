// access_log.h: writes one line per answer, in the common log format, by one green thread.
//
// Connections pass their lines through a channel. They never wait for the disk, or for the reader
// of stdout. If the writer is too slow and the channel is full, lines are dropped and counted.
//
// Threads: line() by any thread; the rest by the owner.
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
    std::string_view client;  // the client's address
    std::string request_line;
    unsigned status;
    uint64_t body_bytes;
};

class access_log {
public:
    // path is a file, which is appended to, "-" for stdout, or "" for no log. Throws
    // std::system_error.
    access_log(const std::string& path, counters& counted);

    // Writes all remaining lines first.
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
