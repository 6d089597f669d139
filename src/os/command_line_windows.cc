// command_line_windows.cc: see command_line_windows.h.
#include "os/command_line_windows.h"

#include <climits>

#include "os/windows_api.h"

namespace weft::detail::os {

bool widen(std::string_view text, std::wstring& wide) {
    wide.clear();
    if (text.empty()) return true;
    if (text.size() > INT_MAX) return false;
    const auto size = static_cast<int>(text.size());
    const int needed = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), size, nullptr, 0);
    wide.resize(static_cast<std::size_t>(needed));
    return needed > 0 && MultiByteToWideChar(CP_UTF8, 0, text.data(), size, wide.data(), needed) == needed;
}

void add_quoted(std::wstring& line, std::wstring_view word) {
    if (!line.empty()) line += L' ';
    if (!word.empty() && word.find_first_of(L" \t\n\v\"") == std::wstring_view::npos) {
        line += word;
        return;
    }
    line += L'"';
    std::size_t backslashes = 0;
    for (const wchar_t c : word) {
        if (c == L'\\') {
            ++backslashes;
        } else {
            // Those before a quote are doubled, and one more keeps the quote.
            if (c == L'"') line.append(backslashes + 1, L'\\');
            backslashes = 0;
        }
        line += c;
    }
    line.append(backslashes, L'\\');  // the closing quote follows
    line += L'"';
}

namespace {

bool is_file(const std::wstring& path) noexcept {
    const DWORD attributes = GetFileAttributesW(path.c_str());
    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY) == 0;
}

bool is_program(std::wstring path, std::wstring& found) {
    for (const wchar_t* end : {L"", L".exe"}) {
        path += end;
        if (!is_file(path)) continue;
        found = path;
        return true;
    }
    return false;
}

bool is_absolute(std::wstring_view path) noexcept {
    return path.starts_with(L'/') || path.starts_with(L'\\') || path.find(L':') != std::wstring_view::npos;
}

std::wstring joined(std::wstring_view folder, std::wstring_view name) {
    std::wstring path(folder);
    if (!path.empty() && !path.ends_with(L'\\') && !path.ends_with(L'/')) path += L'\\';
    return path += name;
}

}  // namespace

bool find_program(std::wstring_view name, std::wstring_view folder, std::wstring_view path, std::wstring& found) {
    if (name.find_first_of(L"/\\:") != std::wstring_view::npos)
        return is_program(is_absolute(name) ? std::wstring(name) : joined(folder, name), found);
    while (!path.empty()) {
        const std::wstring_view first = path.substr(0, path.find(L';'));
        path.remove_prefix(first.size() < path.size() ? first.size() + 1 : path.size());
        if (!first.empty() && is_program(joined(first, name), found)) return true;
    }
    return false;
}

}  // namespace weft::detail::os
