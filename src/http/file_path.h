// file_path.h: converts the decoded path of a request to a path below a folder, and back.
//
// The path is decoded before it is split, so an encoded slash or dot counts as one. Paths that
// could leave the folder are refused here, although document_root would not follow them either:
// clients resolve ".." before they send a request, so a request that contains it is a probe.
#pragma once

#include <string>
#include <string_view>

namespace weft::http::detail {

struct file_path {
    std::string relative;    // "docs/index.html"; "" is the folder itself
    bool is_folder = false;  // the path ended with a slash
};

// decoded: with or without a slash at its begin. Unless shows_hidden, names that begin with a dot
// count as missing, except ".well-known". Throws failure: 400, or 404 for hidden names.
[[nodiscard]] file_path parse_file_path(std::string_view decoded, bool shows_hidden);

// The encoded target of a path, like "/docs/index.html". It never begins with two slashes, which
// browsers take for a host.
[[nodiscard]] std::string target_of(const file_path& path);

}  // namespace weft::http::detail
