// files.h: handlers that answer with files and other content, conditionally and in parts.
//
//     s.handle("GET /static/{path...}", http::files("public"));
//     s.handle("GET /report", [](http::request& r, http::response& w) {
//         http::serve_file(r, w, "/var/lib/app/report.pdf");
//     });
//
// All of them do what RFC 9110 says about content that exists already:
//
//   If-Match, If-Unmodified-Since      412 if the client has other content
//   If-None-Match, If-Modified-Since   304 if the client has this content
//   Range, If-Range                    206 with one part, 416; several parts: the whole content
//   HEAD                               the same header, without a body
//
// They set ETag, Last-Modified, Accept-Ranges, Content-Type (by the extension of the name) and
// X-Content-Type-Options. A Content-Type that is already set is kept. Methods other than GET and
// HEAD get 405.
//
// Threads: any; a handler may run in several green threads at once.
// See:     docs/http.md
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <weft/detail/require.h>
#include <weft/fs.h>
#include <weft/http/request.h>
#include <weft/http/response.h>

namespace weft::http {

namespace detail {
class document_root;
}  // namespace detail

struct file_options {
    /// The file that a directory's path with a slash stands for. Empty: directories are 404.
    std::string index = "index.html";

    /// Whether files and directories whose names begin with a dot are served. ".well-known" always
    /// is.
    bool hidden = false;

    /// Whether symbolic links are followed that stay in the directory. Links that lead out of it
    /// never are, nor any link where the system has no openat2 (Linux before 5.6, other systems).
    bool links = true;

    /// Whether a client that accepts gzip gets x.gz in place of x, where both exist. That costs
    /// another open() per request. The server does not check that both have the same content.
    bool precompressed = false;

    /// The value of Cache-Control; empty: no such field.
    std::string cache_control = {};
};

/// A handler: serves the files of a directory, and nothing outside of it. The path is what the
/// pattern's {name...}, or the slash at its end, stands for. A directory is its index file. Without
/// a slash at its end, its path is redirected (301) to the one with a slash. There are no listings.
/// Copies share the directory.
class files {
public:
    /// Opens the directory. Throws std::system_error.
    explicit files(const std::string& directory, file_options how = {});

    /// Throws http::failure for 400, 403, 404, 405, 412, and 503; std::logic_error if the pattern
    /// does not end with a slash or {name...}; and as response::send_file().
    void operator()(request& r, response& w) const;

private:
    std::shared_ptr<const detail::document_root> root_;
    std::shared_ptr<const file_options> how_;
};

/// Answers with one file, which the program has chosen. Follows symbolic links. Do not make path
/// from the request: use files for that. Throws as a handler of class files.
void serve_file(request& r, response& w, const std::string& path);

/// What is known about content that is not in a file.
struct content_info {
    /// The value of Content-Type.
    std::string_view type = "application/octet-stream";

    /// For ETag, with its quotes: "\"v7\"". Must differ for different content. Empty: no such
    /// field.
    std::string_view tag = {};

    /// For Last-Modified.
    std::optional<std::chrono::system_clock::time_point> modified = {};
};

/// Answers with that content, as with a file. Throws std::invalid_argument if the tag has no quotes;
/// and as a handler of class files.
void serve_content(request& r, response& w, std::string_view content, const content_info& about);

}  // namespace weft::http
