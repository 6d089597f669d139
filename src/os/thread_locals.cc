// thread_locals.cc: where the blocks cannot be found.
#include "os/thread_locals.h"

namespace weft::detail::os {

void visit_thread_locals(void (* /*use*/)(const void*, std::size_t) noexcept) noexcept {}

}  // namespace weft::detail::os
