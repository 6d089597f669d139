#include "terminal.h"

#include <unistd.h>

#include <cstdio>

namespace cluster_wordcount {

bool is_terminal() noexcept { return isatty(STDERR_FILENO) != 0; }

void say(const std::string& text) {
    if (is_terminal()) std::fputs(clear_line, stderr);
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
}

void complain(const std::string& text) {
    std::fprintf(stderr, "%s%s\n", is_terminal() ? clear_line : "", text.c_str());
}

}  // namespace cluster_wordcount
