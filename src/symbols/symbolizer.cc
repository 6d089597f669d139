// symbolizer.cc: see symbolizer.h.
#include "symbols/symbolizer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/atomic.h"
#include "os/os.h"
#include "symbols/symbol_service.h"

namespace weft::detail {

namespace {

constinit atomic<bool> disabled{false};

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

void symbolizer::start() noexcept {
    state_ = state::failed;
    if (disabled.load(relaxed_hint) || !symbol_service::can_start()) return;
    if (process_.start(symbol_service::variable)) state_ = state::running;
}

// The child ends when it reads the end of its input. If it is busy with a large file, it ends when
// it cannot write.
void symbolizer::stop() noexcept {
    process_.close();
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
    if (process_.write(request, static_cast<std::size_t>(size))) return true;
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
        const bool readable = process_.await(std::min(left_ns_, pause_ns));
        left_ns_ -= os::monotonic_ns() - began_ns;
        if (meanwhile != nullptr && !meanwhile(closure)) return nullptr;
        if (!readable) {
            if (left_ns_ <= 0) return nullptr;
            continue;
        }
        const int got = process_.read(buffer_ + end_, sizeof(buffer_) - end_);
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
