// temp_folder.h: a folder of its own for a test, which goes with all that is in it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

namespace weft::test {

class temp_folder {
public:
    temp_folder() : path_(::testing::TempDir() + "weft_XXXXXX") {
        if (::mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "no folder " << path_;
    }

    ~temp_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    temp_folder(const temp_folder&) = delete;
    temp_folder& operator=(const temp_folder&) = delete;

    [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + '/' + name; }

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

// Asks the system to forget what it has of the file in memory, so that reading it needs a disk; where there is one.
inline void evict(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::fsync(fd);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
}

}  // namespace weft::test
