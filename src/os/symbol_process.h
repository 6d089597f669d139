// symbol_process.h: this program's file, executed once more, and two pipes to it.
//
// For symbols/symbol_service.h, which says why. On POSIX systems it is no child in the sense of
// wait() (process_spawn_apart).
//
// Allocates nothing itself, and takes no lock. Any thread, also in the handler of a fault; each
// object: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail::os {

class symbol_process {
public:
    symbol_process() noexcept = default;

    ~symbol_process() { close(); }

    symbol_process(const symbol_process&) = delete;
    symbol_process& operator=(const symbol_process&) = delete;

    // The program's standard input and output are the pipes; its error output leads nowhere. In its
    // environment are only `variable`, as 1, and what the system needs to start a program. Returns
    // false if it cannot be started. Once.
    [[nodiscard]] bool start(const char* variable) noexcept;

    // Returns false if not all of it was written. Requires: it fits into an empty pipe.
    [[nodiscard]] bool write(const char* text, std::size_t size) noexcept;

    // Waits for at most ns until read() would not wait. Returns false if it would.
    [[nodiscard]] bool await(int64_t ns) noexcept;

    // Returns the number of bytes, 0 at the end, or minus errno's value.
    [[nodiscard]] int read(char* into, std::size_t size) noexcept;

    // The process reads the end of its input.
    void close() noexcept;

    // In the process, before its first byte: line ends pass as they are.
    static void prepare_pipes() noexcept;

private:
    static constexpr intptr_t none = -1;

    intptr_t to_ = none;
    intptr_t from_ = none;
};

}  // namespace weft::detail::os
