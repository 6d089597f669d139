// closes.cc: close, dup2, dup3, close_range, closefrom and fclose.
//
// A green thread that waits for a descriptor wakes when any thread closes it through these: its
// call returns -1 with EBADF. (A plain thread in a system call waits on, with the file that it
// has.) The waiters are told before the close, because the number may mean another file right after
// it, on which they must not go on.
//
// These work for all threads, not only for green ones. A descriptor that no green thread has waited
// for costs a load.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "hooks/calls.h"
#include "hooks/wait_io.h"

namespace weft::hooks {

namespace {

constinit const real<int(int)> real_close("close");
constinit const real<int(int, int)> real_dup2("dup2");
constinit const real<int(int, int, int)> real_dup3("dup3");
constinit const real<int(FILE*)> real_fclose("fclose");
constinit const real<int(unsigned, unsigned, int)> real_close_range("close_range");

// f() closes what fd has meant.
template <typename F>
int close_by(int fd, F f) noexcept {
    detail::before_close(fd);
    const int result = f();
    const int error = last_error();
    detail::after_close(fd);
    set_error(error);
    return result;
}

}  // namespace

void use_closes() noexcept {}

}  // namespace weft::hooks

using namespace weft::hooks;

extern "C" {

int close(int fd) {
    return close_by(fd, [=] { return real_close(fd); });
}

int dup2(int from, int to) {
    if (from == to) return real_dup2(from, to);
    return close_by(to, [=] { return real_dup2(from, to); });
}

int dup3(int from, int to, int flags) noexcept {
    if (from == to) return real_dup3(from, to, flags);
    return close_by(to, [=] { return real_dup3(from, to, flags); });
}

int fclose(FILE* file) {
    return close_by(::fileno(file), [=] { return real_fclose(file); });
}

int close_range(unsigned first, unsigned last, int flags) noexcept {
    constexpr int only_marks = 4;  // CLOSE_RANGE_CLOEXEC
    if ((flags & only_marks) == 0) weft::detail::before_close_range(first, last);
    return real_close_range(first, last, flags);
}
}
