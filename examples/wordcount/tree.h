// tree.h: walks the files of a directory tree, and counts what it skips, by kind.
//
// - Only regular files are read.
// - Symbolic links are not followed, so a tree is finite, and each file is found once per name.
// - Other mounted file systems are not entered: /proc, for example, has no end.
// - No content of a tree is an error. What is skipped goes into a census, with one example per
//   kind, and the walk continues. Files may vanish during the walk; they are one of the kinds.
//
// A census has a fingerprint of what was seen: every path with its size and modification time. The
// order does not matter. Two walks with equal fingerprints have read the same tree.
//
// Threads: these functions block in the operating system. One thread at a time may use a census.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace wordcount {

// Why something in the tree was not counted.
enum class skip : std::uint8_t {
    symbolic_link,
    broken_link,
    permission_denied,
    gone,
    fifo,
    socket,
    device,
    other_file_system,
    name_too_long,
    read_error,
};
inline constexpr std::size_t skip_kinds = 10;

// A description for people.
[[nodiscard]] const char* name_of(skip kind) noexcept;

struct census {
    std::uint64_t files = 0;
    std::uint64_t directories = 0;
    std::array<std::uint64_t, skip_kinds> skipped{};
    std::array<std::string, skip_kinds> example;  // of each kind, the path found first
    std::uint64_t fingerprint = 0;

    void note(skip kind, const std::string& path);
    void note_errno(int error, const std::string& path);
    void add(const census& other);

    // Adds a path with its size and modification time to the fingerprint.
    void mark(std::string_view path, std::uint64_t size, std::uint64_t changed) noexcept;
};

// Calls visit(path) for every regular file below root, in directory order. root may also be a file.
// What cannot be visited is noted in seen. One directory is open at a time, also while visit
// blocks.
void walk(const std::string& root, census& seen, const std::function<void(std::string)>& visit);

// A regular file, read from start to end. Errors are noted in the census. Opening may find that the
// file has vanished, or is now something else.
class input_file {
public:
    input_file(std::string path, census& seen);
    input_file(const input_file&) = delete;
    input_file& operator=(const input_file&) = delete;
    ~input_file();

    // Reads up to room bytes. Returns 0 at the end, or if the rest cannot be read.
    std::size_t read(char* to, std::size_t room);

    // A good buffer size: a small file as a whole plus one byte, so that the first read finds the
    // end; at most `most`.
    [[nodiscard]] std::size_t block_size(std::size_t most) const noexcept;

private:
    std::string path_;
    census& seen_;
    int fd_ = -1;
    std::uint64_t size_ = 0;  // as reported when the file was opened
    std::uint64_t read_ = 0;
};

}  // namespace wordcount
