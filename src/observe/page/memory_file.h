// memory_file.h: a file without a name, for what is written to a descriptor and sent to a socket.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace weft::observe::detail {

class memory_file {
public:
    // Throws std::system_error.
    memory_file();

    ~memory_file();

    memory_file(memory_file&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;

    [[nodiscard]] int fd() const noexcept { return fd_; }

    // Opens it again, for writers that take a path.
    [[nodiscard]] std::string path() const;

    // Throws std::system_error.
    [[nodiscard]] uint64_t size() const;

private:
    int fd_;
};

}  // namespace weft::observe::detail
