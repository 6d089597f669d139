// request_path.h: converts the target of a request to a path below the root.
//
// The target is decoded once (%41 is A) before it is split, so an encoded slash or dot counts as
// one. Paths that could leave the root are refused here, although document_root would not follow
// them either: clients resolve ".." before they send a request, so a request that contains it is a
// probe. Names that begin with a dot count as missing, except ".well-known".
#pragma once

#include <string>
#include <string_view>

namespace http_server {

struct request_path {
    std::string relative;    // "docs/index.html"; "" is the root itself
    bool is_folder = false;  // the target ended with a slash
};

// Throws weft::http::failure: 400, or 404 for hidden names.
[[nodiscard]] request_path parse_target(std::string_view target);

// Returns the encoded target of a path, like "/docs/index.html". It never begins with two slashes,
// which browsers take for a host.
[[nodiscard]] std::string target_of(const request_path& path);

}  // namespace http_server
