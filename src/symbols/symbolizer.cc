// symbolizer.cc: see symbolizer.h.
#include "symbols/symbolizer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/atomic.h"
#include "os/os.h"
#include "os/process_calls.h"
#include "symbols/symbol_service.h"

extern char** environ;  // NOLINT: POSIX has it in no header

namespace weft::detail {

namespace {

constinit atomic<bool> disabled{false};

// "LD_LIBRARY_PATH=…" of this process, or nullptr.
char* variable_of_libraries() noexcept {
    constexpr std::string_view name = "LD_LIBRARY_PATH=";
    for (char** v = environ; v != nullptr && *v != nullptr; ++v) {
        if (std::strncmp(*v, name.data(), name.size()) == 0) return *v;
    }
    return nullptr;
}

// Ends the field at the next tab, and returns the one after it.
char* next_field(char* at) noexcept {
    char* tab = std::strchr(at, '\t');
    if (tab == nullptr) return at + std::strlen(at);
    *tab = '\0';
    return tab + 1;
}

}  // namespace

void symbolizer::disable() noexcept { disabled.store(true, relaxed_hint); }

symbolizer::~symbolizer() { stop(); }

// The child gets no variable of the program but the one that its libraries may be found by: not
// LD_PRELOAD, and no settings of the program's own libraries.
void symbolizer::start() noexcept {
    state_ = state::failed;
    if (disabled.load(relaxed_hint) || !symbol_service::can_start()) return;
    int request_end = -1;
    int answer_end = -1;
    if (os::pipe_make(request_end, to_) < 0) return;
    if (os::pipe_make(from_, answer_end) == 0) {
        char name[] = "weft-symbols";
        char* arguments[] = {name, nullptr};
        char role[sizeof(symbol_service::variable) + 2];
        std::snprintf(role, sizeof(role), "%s=1", symbol_service::variable);
        char* environment[3] = {role, variable_of_libraries(), nullptr};
        const os::spawn_request request{.arguments = arguments,
                                        .environment = environment,
                                        .directory = nullptr,
                                        .standard = {request_end, answer_end, os::std_null},
                                        .group = os::group_kind::own,
                                        .program = os::program_file()};
        if (os::process_spawn_apart(request) == 0) state_ = state::running;
        os::pipe_close(answer_end);
    }
    os::pipe_close(request_end);
    if (state_ == state::failed) stop();
}

// The child ends when it reads the end of its input. If it is busy with a large file, it ends when
// it cannot write.
void symbolizer::stop() noexcept {
    for (int* fd : {&to_, &from_}) {
        if (*fd >= 0) os::pipe_close(*fd);
        *fd = -1;
    }
    state_ = state::failed;
}

bool symbolizer::send(const os::code_place& place) noexcept {
    if (state_ == state::none) start();
    if (state_ != state::running) return false;
    // It fits into the pipe, which is empty: the answer to the last request has been read.
    char request[512];
    const int size =
        std::snprintf(request, sizeof(request), "%zx %s\n", place.address, place.in_program ? "" : place.path);
    if (size < 0 || static_cast<std::size_t>(size) >= sizeof(request)) return false;
    if (os::pipe_write(to_, request, static_cast<std::size_t>(size)) == size) return true;
    stop();
    return false;
}

// Returns nullptr if none comes.
char* symbolizer::next_line(bool (*meanwhile)(void*), void* closure) noexcept {
    static_assert(sizeof(buffer_) == symbol_service::longest_line);
    for (;;) {
        char* line = buffer_ + begin_;
        if (void* end = std::memchr(line, '\n', end_ - begin_)) {
            *static_cast<char*>(end) = '\0';
            begin_ = static_cast<std::size_t>(static_cast<char*>(end) - buffer_) + 1;
            return line;
        }
        std::memmove(buffer_, line, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
        const int64_t began_ns = os::monotonic_ns();
        const bool readable = os::pipe_await(from_, std::min(left_ns_, pause_ns));
        left_ns_ -= os::monotonic_ns() - began_ns;
        if (meanwhile != nullptr && !meanwhile(closure)) return nullptr;
        if (!readable) {
            if (left_ns_ <= 0) return nullptr;
            continue;
        }
        const ssize_t got = os::pipe_read(from_, buffer_ + end_, sizeof(buffer_) - end_);
        if (got == -EINTR) continue;
        if (got <= 0) return nullptr;
        end_ += static_cast<std::size_t>(got);
    }
}

bool symbolizer::receive(symbol& s, bool (*meanwhile)(void*), void* closure) noexcept {
    char* kind = next_line(meanwhile, closure);
    if (kind == nullptr) {
        stop();
        return false;
    }
    if (*kind == '\0') return false;
    char* inlined = next_field(kind);
    char* function = next_field(inlined);
    char* file = next_field(function);
    char* line = next_field(file);
    s.kind = static_cast<symbol_kind>(*kind);
    s.inlined = *inlined == 'i';
    s.function = function;
    s.file = *file == '\0' ? nullptr : file;
    s.line = static_cast<unsigned>(std::strtoul(line, nullptr, 10));
    return true;
}

}  // namespace weft::detail
