// all_gs.h: every green thread of a runtime, with its stack and labels, for profiles.
//
// Threads: any thread, also a green one. Gs start and end meanwhile; each that lives all the time
//          is passed once.
#pragma once

#include <weft/labels.h>
#include <weft/runtime.h>

#include "debug/g_snapshot.h"

namespace weft::detail {

// May throw, and allocate: no G is frozen.
using each_g = void (*)(void* closure, const g_snapshot& g, const label_set& labels);

void for_each_g(scheduler& s, each_g each, void* closure);

// Of the runtime of the calling green thread, or of the default runtime. Returns false if there is
// none.
[[nodiscard]] bool for_each_g_of_caller(each_g each, void* closure);

}  // namespace weft::detail
