// symbol_process_windows.cc: see symbol_process.h.
//
// Pipes of the system, not the pairs of sockets of pipe_calls_windows.cc: these need a library and
// its locks. CreateProcessW allocates from the heap of the process, so a program that has damaged
// its heap may get a report without names, or one that ends early.
#include <fcntl.h>
#include <io.h>

#include <cerrno>
#include <cstdio>
#include <cwchar>

#include "base/time_units.h"
#include "os/symbol_process.h"
#include "os/windows_api.h"

namespace weft::detail::os {

namespace {

HANDLE handle_of(intptr_t value) noexcept { return reinterpret_cast<HANDLE>(value); }  // NOLINT

intptr_t value_of(HANDLE handle) noexcept { return reinterpret_cast<intptr_t>(handle); }

// Its own end is not inherited.
bool make_pipe(intptr_t& own, HANDLE& of_child, bool child_reads) noexcept {
    SECURITY_ATTRIBUTES inheritable{sizeof(inheritable), nullptr, TRUE};
    HANDLE read_end = nullptr;
    HANDLE write_end = nullptr;
    if (CreatePipe(&read_end, &write_end, &inheritable, 0) == 0) return false;
    of_child = child_reads ? read_end : write_end;
    HANDLE mine = child_reads ? write_end : read_end;
    SetHandleInformation(mine, HANDLE_FLAG_INHERIT, 0);
    own = value_of(mine);
    return true;
}

// variable=1, and SystemRoot, without which libraries of the system do not start. The system wants
// two zeros at the end.
void make_environment(const char* variable, wchar_t* into, std::size_t size) noexcept {
    constexpr DWORD root_max = 260;
    wchar_t root[root_max];
    const DWORD length = GetEnvironmentVariableW(L"SystemRoot", root, root_max);
    int at = std::swprintf(into, size, L"%hs=1", variable) + 1;
    if (length > 0 && length < root_max)
        at += std::swprintf(into + at, size - static_cast<std::size_t>(at), L"SystemRoot=%ls", root) + 1;
    into[at] = L'\0';
}

// Inherits these two handles, and no others.
bool start_with(HANDLE in, HANDLE out, wchar_t* environment) noexcept {
    constexpr std::size_t list_max = 128;  // of one attribute; the system says 48 today
    constexpr DWORD path_max = 1024;
    wchar_t path[path_max];
    if (GetModuleFileNameW(nullptr, path, path_max) >= path_max) return false;
    wchar_t line[] = L"weft-symbols";
    HANDLE inherited[] = {in, out};
    alignas(void*) std::byte list[list_max];
    auto* attributes = reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(list);
    SIZE_T size = sizeof(list);
    if (InitializeProcThreadAttributeList(attributes, 1, 0, &size) == 0) return false;
    STARTUPINFOEXW start{};
    start.StartupInfo.cb = sizeof(start);
    start.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    start.StartupInfo.hStdInput = in;
    start.StartupInfo.hStdOutput = out;
    start.lpAttributeList = attributes;
    constexpr DWORD flags = CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT | CREATE_NO_WINDOW;
    PROCESS_INFORMATION started{};
    const bool done = UpdateProcThreadAttribute(attributes, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, inherited,
                                                sizeof(inherited), nullptr, nullptr) != 0 &&
                      CreateProcessW(path, line, nullptr, nullptr, TRUE, flags, environment, nullptr,
                                     &start.StartupInfo, &started) != 0;
    DeleteProcThreadAttributeList(attributes);
    if (!done) return false;
    CloseHandle(started.hThread);
    CloseHandle(started.hProcess);
    return true;
}

}  // namespace

bool symbol_process::start(const char* variable) noexcept {
    constexpr std::size_t environment_max = 512;
    wchar_t environment[environment_max];
    HANDLE request_end = nullptr;
    HANDLE answer_end = nullptr;
    bool started = false;
    if (!make_pipe(to_, request_end, true)) return false;
    if (make_pipe(from_, answer_end, false)) {
        make_environment(variable, environment, environment_max);
        started = start_with(request_end, answer_end, environment);
        CloseHandle(answer_end);
    }
    CloseHandle(request_end);
    if (!started) close();
    return started;
}

bool symbol_process::write(const char* text, std::size_t size) noexcept {
    DWORD wrote = 0;
    return WriteFile(handle_of(to_), text, static_cast<DWORD>(size), &wrote, nullptr) != 0 && wrote == size;
}

// A pipe cannot be waited for, so it is asked each millisecond.
bool symbol_process::await(int64_t ns) noexcept {
    for (;; ns -= ns_per_ms) {
        DWORD bytes = 0;
        if (PeekNamedPipe(handle_of(from_), nullptr, 0, nullptr, &bytes, nullptr) == 0 || bytes > 0) return true;
        if (ns <= 0) return false;
        Sleep(1);
    }
}

int symbol_process::read(char* into, std::size_t size) noexcept {
    DWORD got = 0;
    if (ReadFile(handle_of(from_), into, static_cast<DWORD>(size), &got, nullptr) != 0) return static_cast<int>(got);
    return GetLastError() == ERROR_BROKEN_PIPE ? 0 : -EIO;
}

void symbol_process::prepare_pipes() noexcept {
    _setmode(0, _O_BINARY);
    _setmode(1, _O_BINARY);
}

void symbol_process::close() noexcept {
    for (intptr_t* handle : {&to_, &from_}) {
        if (*handle != none) CloseHandle(handle_of(*handle));
        *handle = none;
    }
}

}  // namespace weft::detail::os
