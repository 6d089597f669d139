#include "captured.h"

namespace weft::test {

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return lines;
}

std::size_t occurrences(std::string_view text, std::string_view word) {
    std::size_t n = 0;
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) ++n;
    return n;
}

std::string section_of(const std::string& dump, std::string_view name) {
    const std::size_t at = dump.find(name);
    if (at == dump.npos) return {};
    const std::size_t start = dump.rfind('\n', at) + 1;
    return dump.substr(start, dump.find("\n\n", at) - start);
}

}  // namespace weft::test
