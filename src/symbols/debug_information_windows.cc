// debug_information_windows.cc: where a weak reference must be defined: used without weft::observe.
// See debug_information.h.
#include "symbols/debug_information.h"

extern "C" [[gnu::weak]] bool weft_find_in_debug_information(const char* /*path*/,
                                                             uint64_t /*address*/,
                                                             weft::detail::found_frame /*found*/,
                                                             void* /*closure*/) {
    return false;
}
