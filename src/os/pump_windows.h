// pump_windows.h: connects a pipe of the system, which a program gets as a standard handle, with
// one of our pipes, which is a pair of sockets (pipe_calls_windows.cc).
//
//      this process                                           the program
//      pipe_reader ══ socket … socket ◀── thread ◀── pipe ◀── standard output
//
// Each pump is a thread that blocks. It ends when either side ends, and closes both. If the reader
// has gone, the writer learns that with its next write but one.
//
// Bytes that the pump has not moved when this process ends are lost.
//
// Rejected:
// - The socket as a standard handle: some programs read and write it, others fail, because they use
//   it as a file.
// - A named pipe whose end on our side completes operations on the poller's port: a write lasts
//   until the program has read it, and closing the pipe would discard it.
//
// Threads: any thread.
#pragma once

#include "os/windows_api.h"

namespace weft::detail::os {

class pump {
public:
    pump() noexcept = default;
    ~pump();  // one that was not started closes what it has
    pump(const pump&) = delete;
    pump& operator=(const pump&) = delete;

    // socket: stays the caller's. Returns 0 or minus errno's value, and the inheritable end of the
    // pipe, which the caller closes.
    [[nodiscard]] int open(int socket, bool program_reads, HANDLE& of_program) noexcept;

    // The thread takes over everything. Returns 0 or minus errno's value.
    [[nodiscard]] int start() noexcept;

private:
    struct ends {
        SOCKET socket;
        HANDLE pipe;
        bool to_program;
    };

    static void move_all(const ends& e) noexcept;
    static DWORD WINAPI run(void* given);

    ends* ends_ = nullptr;
};

}  // namespace weft::detail::os
