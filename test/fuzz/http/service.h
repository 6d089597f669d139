// service.h: the HTTP server of examples/http_server in this process: one connection at a time,
// without the loop that accepts them.
//
// Everything between a socket and a file is weft::http, and the example's code. The client is
// another green thread. The served folder has files of known contents, hidden files, and
// symbolic links that lead out. What is hidden or outside begins with a text that no answer can
// otherwise contain: it has a byte 1, which JSON and headers escape.
//
// Checks of each connection: it never has much allocated at a time, and it leaves no file open.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "examples/http_server/options.h"

namespace fuzz::http {

// Small limits, which are easy to exceed.
inline const http_server::limits allowed = [] {
    http_server::limits l;
    l.header_bytes = 512;
    l.body_bytes = 1024;
    return l;
}();

// How long the server waits for a client that takes no data. A target may change it before the
// first talk.
inline std::chrono::nanoseconds write_time = std::chrono::seconds(30);

inline constexpr std::string_view secret = "\1secret\1";

// A line of the access log.
struct log_line {
    std::string request;  // escaped, and cut off after some length
    unsigned status = 0;
    std::size_t body_bytes = 0;
};

struct talk {
    std::string answers;  // every byte, until the server has closed
    std::vector<log_line> log;
};

// The client sends each piece when the server has read the previous one, and then ends its stream.
// It reads answers all the time. A single piece is sent before the server begins.
[[nodiscard]] talk talk_with_server(std::span<const std::string_view> pieces);

// The contents of a file by its path in the folder; nullptr if the server may not serve such a
// file.
[[nodiscard]] const std::string* file_at(std::string_view relative);

// Whether it is a folder: "", "sub", "sub/empty".
[[nodiscard]] bool is_folder(std::string_view relative);

// Returns the content of a file that equals the text, or nullptr.
[[nodiscard]] const std::string* file_with(std::string_view content);

}  // namespace fuzz::http
