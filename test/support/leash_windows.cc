// leash_windows.cc: see bystanders.h. The descriptors are handles of a pipe.
#include <cstdlib>

#include "bystanders.h"
#include "os/std_handles.h"
#include "os/windows_api.h"

namespace weft::test {

namespace os = weft::detail::os;

leash::leash() {
    HANDLE read_end = nullptr;
    HANDLE write_end = nullptr;
    if (CreatePipe(&read_end, &write_end, nullptr, 0) == 0) std::abort();
    pipe_[0] = os::to_fd(read_end);
    pipe_[1] = os::to_fd(write_end);
}

leash::~leash() {
    let_go();
    CloseHandle(os::to_handle(pipe_[0]));
    CloseHandle(os::to_handle(pipe_[1]));
}

// For others that wait, the byte is put back.
void leash::await() const {
    char byte = 0;
    DWORD moved = 0;
    if (ReadFile(os::to_handle(pipe_[0]), &byte, 1, &moved, nullptr) == 0 ||
        WriteFile(os::to_handle(pipe_[1]), &byte, 1, &moved, nullptr) == 0) {
        std::abort();
    }
}

void leash::let_go() {
    gone_ = true;
    DWORD written = 0;
    if (WriteFile(os::to_handle(pipe_[1]), "", 1, &written, nullptr) == 0) std::abort();
}

}  // namespace weft::test
