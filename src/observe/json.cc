// json.cc: see json.h.
#include "observe/json.h"

#include <cstddef>
#include <cstdio>

#include "base/utf8.h"

namespace weft::observe::detail {

// Names and messages are cut at a number of bytes, and may be anything.
std::string quoted(std::string_view text) {
    std::string all = "\"";
    while (!text.empty()) {
        const std::size_t size = weft::detail::utf8_size(text);
        const char c = text.front();
        if (size == 0) {
            all += "\\ufffd";
        } else if (c == '"' || c == '\\') {
            (all += '\\') += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
            all += escape;
        } else {
            all += text.substr(0, size);
        }
        text.remove_prefix(size == 0 ? 1 : size);
    }
    return all + '"';
}

}  // namespace weft::observe::detail
