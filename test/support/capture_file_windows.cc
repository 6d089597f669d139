// capture_file_windows.cc: the files of captured.h. A descriptor is a handle, and the C library has
// numbers of its own (os/std_handles.h).
#include <io.h>

#include <cstdio>
#include <cstdlib>

#include "captured.h"
#include "os/std_handles.h"

namespace weft::test {

using weft::detail::os::to_fd;
using weft::detail::os::to_handle;

namespace {

// Removed by the system when it is closed.
HANDLE temporary_file() {
    char folder[MAX_PATH];
    char path[MAX_PATH];
    HANDLE file = INVALID_HANDLE_VALUE;
    if (GetTempPathA(MAX_PATH, folder) != 0 && GetTempFileNameA(folder, "weft", 0, path) != 0) {
        file = CreateFileA(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                           nullptr, CREATE_ALWAYS, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, nullptr);
    }
    if (file == INVALID_HANDLE_VALUE) {
        std::fprintf(stderr, "capture_file_windows.cc: CreateFile: error %lu\n", GetLastError());
        std::abort();
    }
    return file;
}

constexpr int c_stderr = 2;

}  // namespace

capture_file::capture_file() : fd_(to_fd(temporary_file())) {}

capture_file::~capture_file() { CloseHandle(to_handle(fd_)); }

std::string capture_file::text() const {
    LARGE_INTEGER size{};
    GetFileSizeEx(to_handle(fd_), &size);
    std::string text(static_cast<std::size_t>(size.QuadPart), '\0');
    DWORD got = 0;
    // A position of its own, and the shared one is put back to the end.
    OVERLAPPED start{};
    ReadFile(to_handle(fd_), text.data(), static_cast<DWORD>(text.size()), &got, &start);
    SetFilePointerEx(to_handle(fd_), {}, nullptr, FILE_END);
    text.resize(got);
    // The C library writes line ends as two characters.
    std::erase(text, '\r');
    return text;
}

// dup2 sets the standard handle, too.
stderr_capture::stderr_capture() : before_(_dup(c_stderr)) {
    std::fflush(stderr);
    HANDLE own = nullptr;
    DuplicateHandle(GetCurrentProcess(), to_handle(file_.fd()), GetCurrentProcess(), &own, 0, TRUE,
                    DUPLICATE_SAME_ACCESS);
    const int file = _open_osfhandle(reinterpret_cast<intptr_t>(own), 0);
    _dup2(file, c_stderr);
    _close(file);
}

stderr_capture::~stderr_capture() {
    std::fflush(stderr);
    _dup2(before_, c_stderr);
    _close(before_);
}

std::string stderr_capture::text() const {
    std::fflush(stderr);
    return file_.text();
}

}  // namespace weft::test
