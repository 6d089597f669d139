// link.cc: makes a linker use the whole of the static library: weft_hooks.cmake asks for the name
// here.
#include "hooks/calls.h"

// Not mangled, because a linker option names it.
extern "C" [[gnu::used]] void weft_hooks_are_linked() noexcept {
    using namespace weft::hooks;
    use_sockets();
    use_files();
    use_poll();
    use_sleeps();
    use_closes();
    use_system();
}
