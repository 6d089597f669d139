// assert.cc: ends a process. See assert.h.
#include "base/assert.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "base/atomic.h"
#include "base/report_hook.h"

namespace weft::detail {

namespace {

constexpr int message_size = 1024;

constinit atomic<void (*)() noexcept> fatal_hook{nullptr};

// One write call per line, so that lines of several threads do not mix.
void write_line(const char* prefix, const char* format, va_list arguments) noexcept {
    char line[message_size];
    int used = std::snprintf(line, sizeof(line), "%s", prefix);
    const int wanted = std::vsnprintf(line + used, sizeof(line) - static_cast<size_t>(used) - 1, format, arguments);
    used = wanted < message_size - used - 1 ? used + wanted : message_size - 2;
    line[used] = '\n';
    std::fwrite(line, 1, static_cast<size_t>(used) + 1, stderr);
    std::fflush(stderr);  // what follows may be written by other ways
}

[[noreturn]] void die() noexcept {
    // A fatal error inside the report must not report recursively.
    static constinit atomic<bool> dying{false};
    if (!dying.exchange(true, acq_rel)) {                  // acq_rel: only one of us reports
        if (auto hook = fatal_hook.load(acquire)) hook();  // pairs with set_fatal_hook
        call_report_hook(reported::fatal);
    }
    std::fflush(stderr);
    std::abort();
}

}  // namespace

void set_fatal_hook(void (*hook)() noexcept) noexcept {
    fatal_hook.store(hook, release);  // pairs with die
}

void fatal(const char* format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    write_line("weft: fatal: ", format, arguments);
    va_end(arguments);
    die();
}

void warn(const char* format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    write_line("weft: ", format, arguments);
    va_end(arguments);
}

void assert_failed(const char* condition, const char* file, int line) noexcept {
    fatal("this is a bug in weft: %s does not hold (%s:%d)", condition, file, line);
}

}  // namespace weft::detail
