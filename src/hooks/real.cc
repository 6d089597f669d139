// real.cc: see real.h.
#include "hooks/real.h"

namespace weft::hooks {

WEFT_HOOKS_OPAQUE int last_error() noexcept { return errno; }

WEFT_HOOKS_OPAQUE void set_error(int error) noexcept { errno = error; }

}  // namespace weft::hooks
