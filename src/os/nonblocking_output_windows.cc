// nonblocking_output_windows.cc: see nonblocking_output.h. The system cannot tell whether a pipe or
// console takes more, so a report may wait for its reader.
#include <algorithm>

#include "os/nonblocking_output.h"
#include "os/std_handles.h"

namespace weft::detail::os {

const std::size_t sure_of_pipe = 4096;  // a guess: the system promises nothing

nonblocking_output::~nonblocking_output() = default;

void nonblocking_output::choose_way() noexcept { way_ = way::directly; }

std::ptrdiff_t nonblocking_output::write_some(const char* text, std::size_t size) noexcept {
    if (way_ == way::unknown) choose_way();
    sure_ = size;
    DWORD wrote = 0;
    if (WriteFile(to_handle(target()), text, static_cast<DWORD>(std::min<std::size_t>(size, INT32_MAX)), &wrote,
                  nullptr) == 0)
        return -1;
    return static_cast<std::ptrdiff_t>(wrote);
}

bool nonblocking_output::await(int64_t /*ns*/) noexcept { return true; }

}  // namespace weft::detail::os
