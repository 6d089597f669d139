// code_mappings.cc: where they cannot be listed: see code_mappings.h.
#include "os/code_mappings.h"

namespace weft::detail::os {

bool for_each_code_mapping(void (* /*each*/)(void*, const code_mapping&), void* /*closure*/) { return false; }

}  // namespace weft::detail::os
