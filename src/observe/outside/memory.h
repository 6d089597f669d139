// memory.h: reads the memory of another process, or of a core file. Writes nothing.
//
// A process is read while it runs, or is stopped; it does not notice. The system allows that to
// processes that may trace it: ptrace(2), "Ptrace access mode checking".
//
// Threads: one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft::observe::detail {

// A part of the address space that a file is mapped to.
struct mapped_file {
    uint64_t begin;
    uint64_t end;
    uint64_t offset;   // in the file
    std::string path;  // as the process knows it
};

// Registers of a thread; zeros are unknown.
struct thread_registers {
    uint64_t sp = 0;
    uint64_t pc = 0;
    uint64_t fp = 0;
};

class target_memory {
public:
    // One of many reads.
    struct piece {
        uint64_t at;
        void* into;
        std::size_t size;
        std::size_t done = 0;  // bytes that were read
    };

    target_memory() = default;
    target_memory(const target_memory&) = delete;
    target_memory& operator=(const target_memory&) = delete;
    virtual ~target_memory() = default;

    // Returns how many of the bytes from `at` on were read.
    virtual std::size_t read(uint64_t at, void* into, std::size_t size) = 0;

    // Sets done of each.
    virtual void read_each(std::span<piece> pieces) {
        for (piece& p : pieces) p.done = read(p.at, p.into, p.size);
    }

    template <typename T>
    bool get(uint64_t at, T& into) {
        return read(at, &into, sizeof(T)) == sizeof(T);
    }

    // Up to the null byte, at most `most` bytes. What cannot be read is empty.
    [[nodiscard]] std::string text(uint64_t at, std::size_t most = 4096);

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    [[nodiscard]] virtual bool is_core() const noexcept = 0;

    // The name of the program, without its folder.
    [[nodiscard]] const std::string& program() const noexcept { return program_; }

    [[nodiscard]] const std::vector<mapped_file>& files() const noexcept { return files_; }

    // A path under which this process can open the file; empty: none.
    [[nodiscard]] virtual std::string path_of(const mapped_file& file) const = 0;

    // Where a thread is; zeros: unknown.
    [[nodiscard]] virtual thread_registers registers_of(pid_t tid) = 0;

    // CLOCK_MONOTONIC at the time of what is read; 0: unknown.
    [[nodiscard]] virtual int64_t now_ns() const = 0;

    [[nodiscard]] virtual uint64_t page_size() const = 0;

    // "running", "stopped" and so on.
    [[nodiscard]] virtual std::string condition() const = 0;

protected:
    pid_t pid_ = 0;
    std::string program_;
    std::vector<mapped_file> files_;
};

// Throws std::runtime_error, which says what to do, if it may not be read.
[[nodiscard]] std::unique_ptr<target_memory> open_process(pid_t pid);

// program: the path of the program, if it is not where it was; or empty.
[[nodiscard]] std::unique_ptr<target_memory> open_core(const std::string& path, const std::string& program);

}  // namespace weft::observe::detail
