// request_path.h: from the target of a request to a path below the root.
//
// The target is decoded once (%41 is A), and only then taken apart, so that an encoded slash or dot is one. What could lead out of the root
// is refused here, although document_root would not follow it either: ".." is something that clients resolve before they ask, and who sends it
// probes. Names that begin with a dot are as if they were not there, but ".well-known".
#pragma once

#include <string>
#include <string_view>

namespace http_server {

struct request_path {
    std::string relative;    // "docs/index.html"; "" is the root itself
    bool is_folder = false;  // the target ended with a slash
};

// Throws refusal: 400, or 404 for hidden names.
[[nodiscard]] request_path parse_target(std::string_view target);

// "/docs/index.html" for that path, encoded; never with two slashes in front, which browsers take for a host.
[[nodiscard]] std::string target_of(const request_path& path);

}  // namespace http_server
