#include "content_type.h"

#include <array>
#include <cstddef>

namespace http_server {

namespace {

struct known_type {
    std::string_view suffix;
    std::string_view type;
};

constexpr std::array known_types = std::to_array<known_type>({
    {"html", "text/html; charset=utf-8"},
    {"css", "text/css; charset=utf-8"},
    {"js", "text/javascript; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"json", "application/json"},
    {"txt", "text/plain; charset=utf-8"},
    {"md", "text/markdown; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"xml", "application/xml"},
    {"svg", "image/svg+xml"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"webp", "image/webp"},
    {"ico", "image/x-icon"},
    {"woff2", "font/woff2"},
    {"wasm", "application/wasm"},
    {"pdf", "application/pdf"},
    {"zip", "application/zip"},
    {"mp4", "video/mp4"},
    {"mp3", "audio/mpeg"},
});

}  // namespace

std::string_view content_type_of(std::string_view path) noexcept {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const std::size_t dot = name.rfind('.');
    const std::string_view suffix = dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
    for (const known_type& known : known_types) {
        if (known.suffix == suffix) return known.type;
    }
    return "application/octet-stream";
}

}  // namespace http_server
