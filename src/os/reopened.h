// reopened.h: the file of a descriptor of the program, opened again, so that its mode can be
// changed without changing that of other processes: part of the porting contract.
//
// Threads: any thread.
#pragma once

struct stat;

namespace weft::detail::os {

// The main side of a pseudo-terminal: opened again, it would become another one.
[[nodiscard]] bool is_main_side(int terminal) noexcept;

// Opens a FIFO, pipe or terminal for writing, non-blocking. Returns -1 on failure, or if fd is not
// the file described by as.
[[nodiscard]] int open_again(int fd, const struct stat& as) noexcept;

}  // namespace weft::detail::os
