// unwinding_windows.cc: see unwinding.h. Programs of GCC have GCC's unwinder.
#include "unwinding.h"

namespace weft::test {

bool is_llvm_unwinder() { return false; }

}  // namespace weft::test
