// debug_information_windows.cc: weft::observe, which would define this function, is not built on
// Windows. See debug_information.h.
#include "symbols/debug_information.h"

extern "C" bool weft_find_in_debug_information(const char* /*path*/,
                                               uint64_t /*address*/,
                                               weft::detail::found_frame /*found*/,
                                               void* /*closure*/) {
    return false;
}
