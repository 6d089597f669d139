// command_line_windows.h: a command and an environment in the form of Windows.
//
// Windows passes a program one string. Each program splits it by itself, most by the rules of the C
// library: blanks separate, quotes keep a word together, backslashes count only before a quote.
//
// Threads: any thread.
#pragma once

#include <string>
#include <string_view>

namespace weft::detail::os {

// From UTF-8. Returns false if it is not valid. Throws std::bad_alloc.
[[nodiscard]] bool widen(std::string_view text, std::wstring& wide);

// Appends a word, with a blank before it unless line is empty.
void add_quoted(std::wstring& line, std::wstring_view word);

// The file of a program: `name` itself if it has a slash, a backslash or a colon, else searched in
// the folders of PATH, which is a list separated by semicolons. Appends ".exe" if that finds it.
// Relative names are resolved in folder unless that is empty. Returns false if no file is found.
[[nodiscard]] bool find_program(std::wstring_view name,
                                std::wstring_view folder,
                                std::wstring_view path,
                                std::wstring& found);

}  // namespace weft::detail::os
