// access_log.h: writes one line per answer, in the common log format, by one green thread.
//
// Connections pass their lines through a channel. They never wait for the disk, or for the reader
// of stdout. If the writer is too slow and the channel is full, lines are dropped and counted.
//
// Threads: line() by any thread; the rest by the owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <weft/chan.h>
#include <weft/fs.h>
#include <weft/http/server.h>
#include <weft/wait_group.h>

namespace http_server {

class access_log {
public:
    // path is a file, which is appended to, "-" for stdout, or "" for no log. Throws
    // std::system_error.
    explicit access_log(const std::string& path);

    // Writes all remaining lines first.
    ~access_log();

    access_log(const access_log&) = delete;
    access_log& operator=(const access_log&) = delete;

    [[nodiscard]] bool is_on() const noexcept { return file_.is_open(); }

    void line(const weft::http::access_entry& entry);

    [[nodiscard]] const std::atomic<uint64_t>& lines_lost() const noexcept { return lines_lost_; }

private:
    void write_lines();

    weft::fs::file file_;
    weft::chan<std::string> lines_;
    weft::wait_group writer_;
    std::atomic<uint64_t> lines_lost_ = 0;
};

}  // namespace http_server
