// process_calls_windows.cc: see process_calls.h. Programs are not started on Windows yet: each call
// says ENOSYS. Pipes neither: the poller watches sockets only.
#include <cerrno>

#include "os/process_calls.h"
#include "os/windows_api.h"

namespace weft::detail::os {

int pipe_make(int& /*read_end*/, int& /*write_end*/) noexcept { return -ENOSYS; }

ssize_t pipe_read(int /*fd*/, void* /*into*/, std::size_t /*size*/) noexcept { return -ENOSYS; }

ssize_t pipe_write(int /*fd*/, const void* /*from*/, std::size_t /*size*/) noexcept { return -ENOSYS; }

bool pipe_await(int /*fd*/, int64_t /*ns*/) noexcept { return false; }

void pipe_close(int /*fd*/) noexcept {}

int process_number() noexcept { return static_cast<int>(GetCurrentProcessId()); }

int process_spawn(const spawn_request& /*r*/, int& /*pid*/, int& /*descriptor*/) noexcept { return -ENOSYS; }

int process_spawn_apart(const spawn_request& /*r*/) noexcept { return -ENOSYS; }

void limit_own_process(int /*cpu_seconds*/) noexcept {}

int process_look(int /*fd*/, int /*pid*/, process_end& /*e*/) noexcept { return -ENOSYS; }

int process_recall(int /*fd*/, process_end& /*e*/) noexcept { return -ENOSYS; }

void process_reap(int /*fd*/, int /*pid*/) noexcept {}

int process_signal(int /*fd*/, int /*pid*/, int /*signal*/) noexcept { return -ENOSYS; }

int group_signal(int /*fd*/, int /*leader*/, int /*signal*/) noexcept { return -ENOSYS; }

int children_make() noexcept { return -ENOSYS; }

int children_add(int /*children*/, int /*fd*/) noexcept { return -ENOSYS; }

int children_next(int /*children*/) noexcept { return -1; }

}  // namespace weft::detail::os
