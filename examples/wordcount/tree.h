// tree.h: the files of a directory tree, and everything in it that is not counted, by kind.
//
// Only regular files are read. Symbolic links are not followed, so a tree is finite and every file is met once per
// name. Other mounted file systems are not entered (what is under /proc has no end). Nothing a tree may hold is an
// error: it is noted in a census with one example, and the walk goes on. Files come and go while we look; a file that
// is gone when we get to it is one kind more.
//
// A census also has a fingerprint of what was seen: every path with its size and time of last change, in any order.
// Two walks with equal fingerprints have read the same tree.
//
// Who: functions here block in the operating system. A census belongs to one thread at a time.
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

// In words, for a person.
[[nodiscard]] const char* name_of(skip kind) noexcept;

struct census {
    std::uint64_t files = 0;
    std::uint64_t directories = 0;
    std::array<std::uint64_t, skip_kinds> skipped{};
    std::array<std::string, skip_kinds> example;  // of each kind, the path met first
    std::uint64_t fingerprint = 0;

    void note(skip kind, const std::string& path);
    void note_errno(int error, const std::string& path);
    void add(const census& other);

    // Adds what identifies path to the fingerprint.
    void mark(std::string_view path, std::uint64_t size, std::uint64_t changed) noexcept;
};

// Calls visit(path) for every regular file below root, in the order of the directories. root may be a file. What
// cannot be visited goes into seen. One directory is open at a time, also while visit blocks.
void walk(const std::string& root, census& seen, const std::function<void(std::string)>& visit);

// A regular file, read from front to end. What prevents that goes into the census: opening may find that the file is
// gone, or has become something else.
class input_file {
public:
    input_file(std::string path, census& seen);
    input_file(const input_file&) = delete;
    input_file& operator=(const input_file&) = delete;
    ~input_file();

    // Reads up to room bytes; 0 at the end, or when the rest cannot be read.
    std::size_t read(char* to, std::size_t room);

    // A good size for the buffer: the whole of a small file and a byte more, so that the end is seen at once; else
    // most.
    [[nodiscard]] std::size_t block_size(std::size_t most) const noexcept;

private:
    std::string path_;
    census& seen_;
    int fd_ = -1;
    std::uint64_t size_ = 0;  // as the file system said when it was opened
    std::uint64_t read_ = 0;
};

}  // namespace wordcount
