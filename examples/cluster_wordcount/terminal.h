// terminal.h: lines of text beside a line that is rewritten (status_line.h).
#pragma once

#include <string>

namespace cluster_wordcount {

inline constexpr const char* clear_line = "\r\033[K";

// Whether stderr is a terminal.
[[nodiscard]] bool is_terminal() noexcept;

// Write a line to stdout and to stderr. The status line comes again below it.
void say(const std::string& text);
void complain(const std::string& text);

}  // namespace cluster_wordcount
