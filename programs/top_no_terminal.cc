// top_no_terminal.cc: the terminal of `weft top` where the program was built without ncurses.
#include <stdexcept>

#include "top_terminal.h"

int show_in_terminal(top_source& /*from*/, const top_settings& /*settings*/) {
    throw std::runtime_error(
        "weft: this program was built without ncurses, so top only works with --once; install libncurses-dev and build "
        "it "
        "again");
}
