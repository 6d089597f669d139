// service.h: the HTTP server of examples/http_server in this process: one connection at a time, without the loop that accepts them.
//
// Everything between a socket and a file is the example's own: connection.cc and what it uses. The client is another green thread. The folder
// that is served has files of known contents, hidden ones, and symbolic links that lead out; what lies hidden or outside begins with
// a text that no answer can have in it for any other reason: it has a byte 1 in it, which JSON and headers write otherwise.
//
// Of each connection: it never has much allocated at a time, and it leaves no file open.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "examples/http_server/options.h"

namespace fuzz::http {

// Small, so that it takes little to exceed them.
inline const http_server::limits allowed = [] {
    http_server::limits l;
    l.header_bytes = 512;
    l.body_bytes = 1024;
    return l;
}();

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

// The client sends the pieces, each when the last one has been read, and then nothing more; it reads what there is all the time. One piece is
// sent before the server begins.
[[nodiscard]] talk talk_with_server(std::span<const std::string_view> pieces);

// What is in a file of the folder, by its path in it; nullptr: there is none to be had.
[[nodiscard]] const std::string* file_at(std::string_view relative);

// Whether it is a folder: "", "sub", "sub/empty".
[[nodiscard]] bool is_folder(std::string_view relative);

// Whether the text is the content of some file.
[[nodiscard]] const std::string* file_with(std::string_view content);

}  // namespace fuzz::http
