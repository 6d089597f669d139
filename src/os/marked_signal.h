// marked_signal.h: signals to one thread of this process that its handler recognizes: part of the
// porting contract.
//
// A mark is an address that only its owner knows. Where the system carries no value with a signal
// to a thread, any signal that this process sends to one of its threads has every mark. A program
// there must not send SIGURG, or another signal given to the runtime, to its own threads.
//
// Threads: any thread; has_mark also in a signal handler, about its second argument.
#pragma once

namespace weft::detail::os {

// Returns false if it was not sent.
[[nodiscard]] bool send_marked(int tid, int signal, const void* mark) noexcept;

[[nodiscard]] bool has_mark(const void* info, const void* mark) noexcept;

}  // namespace weft::detail::os
