// symbol_process.cc: see symbol_process.h.
#include "os/symbol_process.h"

#include <cstdio>
#include <cstring>
#include <string_view>

#include "os/process_calls.h"
#include "os/symbols.h"

extern char** environ;  // NOLINT: POSIX has it in no header

namespace weft::detail::os {

namespace {

// "LD_LIBRARY_PATH=…" of this process, or nullptr.
char* variable_of_libraries() noexcept {
    constexpr std::string_view name = "LD_LIBRARY_PATH=";
    for (char** v = environ; v != nullptr && *v != nullptr; ++v) {
        if (std::strncmp(*v, name.data(), name.size()) == 0) return *v;
    }
    return nullptr;
}

}  // namespace

// The child gets no variable of the program but the one that its libraries may be found by: not
// LD_PRELOAD, and no settings of the program's own libraries.
bool symbol_process::start(const char* variable) noexcept {
    int request_end = -1;
    int answer_end = -1;
    int to = -1;
    int from = -1;
    bool started = false;
    if (pipe_make(request_end, to) < 0) return false;
    to_ = to;
    if (pipe_make(from, answer_end) == 0) {
        from_ = from;
        char name[] = "weft-symbols";
        char* arguments[] = {name, nullptr};
        char role[64];
        std::snprintf(role, sizeof(role), "%s=1", variable);
        char* environment[3] = {role, variable_of_libraries(), nullptr};
        const spawn_request request{.arguments = arguments,
                                    .environment = environment,
                                    .directory = nullptr,
                                    .standard = {request_end, answer_end, std_null},
                                    .group = group_kind::own,
                                    .program = program_file()};
        started = process_spawn_apart(request) == 0;
        pipe_close(answer_end);
    }
    pipe_close(request_end);
    if (!started) close();
    return started;
}

bool symbol_process::write(const char* text, std::size_t size) noexcept {
    return pipe_write(static_cast<int>(to_), text, size) == static_cast<ssize_t>(size);
}

bool symbol_process::await(int64_t ns) noexcept { return pipe_await(static_cast<int>(from_), ns); }

int symbol_process::read(char* into, std::size_t size) noexcept {
    return static_cast<int>(pipe_read(static_cast<int>(from_), into, size));
}

void symbol_process::prepare_pipes() noexcept {}

void symbol_process::close() noexcept {
    for (intptr_t* fd : {&to_, &from_}) {
        if (*fd != none) pipe_close(static_cast<int>(*fd));
        *fd = none;
    }
}

}  // namespace weft::detail::os
