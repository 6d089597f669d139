// evict_windows.cc: see temp_folder.h.
#include "temp_folder.h"

namespace weft::test {

// The system has no call for it.
void evict(const std::string& /*path*/) {}

}  // namespace weft::test
