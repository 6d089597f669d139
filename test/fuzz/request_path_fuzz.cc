// request_path_fuzz.cc: targets of requests. No path that is made of one leads out of the root, or
// to a hidden file.
//
// needs: fuzz_http
// mutant: src/http/file_path.cc | if (segment.find('\0') != | if (segment.find('\1') !=
// mutant: src/http/file_path.cc | segment.front() == '.' && | false &&
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <weft/http/error.h>

#include "fuzz/check.h"
#include "http/file_path.h"
#include "http/target.h"

namespace {

using weft::http::detail::file_path;

// As a handler does it that serves all files.
std::optional<file_path> parsed(std::string_view target) {
    const auto parts = weft::http::detail::split(target);
    if (!parts || parts->path == "*") return std::nullopt;
    const std::optional<std::string> decoded = weft::http::detail::decoded_path(parts->path);
    if (!decoded) return std::nullopt;
    try {
        return weft::http::detail::parse_file_path(*decoded, false);
    } catch (const weft::http::failure& no) {
        fuzz::check(no.status() == 400 || no.status() == 404, "a target is refused with 400 or 404", target);
        fuzz::check(*no.what() != '\0', "a refusal says why", target);
        return std::nullopt;
    }
}

bool is_same(const std::optional<file_path>& a, const std::optional<file_path>& b) {
    if (!a || !b) return !a && !b;
    return a->relative == b->relative && a->is_folder == b->is_folder;
}

void check_segments(std::string_view relative, std::string_view target) {
    while (!relative.empty()) {
        const std::size_t slash = relative.find('/');
        const std::string_view segment = relative.substr(0, slash);
        fuzz::check(!segment.empty(), "no name is empty", target);
        fuzz::check(segment.front() != '.' || segment == ".well-known", "no name leads up, or is hidden", target);
        fuzz::check(segment.find('\0') == std::string_view::npos, "no name has a 0 in it", target);
        fuzz::check(slash != relative.size() - 1, "no path ends with a slash", target);
        relative.remove_prefix(slash == std::string_view::npos ? relative.size() : slash + 1);
    }
}

std::string all_encoded(std::string_view target) {
    std::string encoded = "/";
    for (const char c : target.substr(1)) {
        constexpr std::string_view digits = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(c);
        encoded += {'%', digits[byte / 16], digits[byte % 16]};
    }
    return encoded;
}

void check_written_and_read_again(const file_path& path, std::string_view target) {
    const std::string written = weft::http::detail::target_of(path);
    fuzz::check(written.starts_with('/') && !written.starts_with("//"), "it is a path, and no host", target);
    fuzz::check(
        std::all_of(written.begin(), written.end(), [](char c) { return c > ' ' && c <= '~' && c != '?' && c != '#'; }),
        "it is written without what means something else", target);
    fuzz::check(is_same(parsed(written), path), "a path that is written is the same one when read", target);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    const std::string_view target = fuzz::text_of(data, size);
    const std::optional<file_path> path = parsed(target);
    fuzz::check(is_same(path, parsed(std::string(target) + "?../..")), "a query changes nothing", target);
    if (target.starts_with('/') && target.find_first_of("%?") == std::string_view::npos)
        fuzz::check(is_same(path, parsed(all_encoded(target))), "it is the same when encoded", target);
    if (!path) return 0;
    fuzz::check(path->relative.size() < std::max<std::size_t>(target.size(), 1), "a path is shorter than its target",
                target);
    check_segments(path->relative, target);
    check_written_and_read_again(*path, target);
    return 0;
}
