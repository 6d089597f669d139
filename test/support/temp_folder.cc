#include "temp_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <gtest/gtest.h>

namespace weft::test {

namespace {

std::string make_folder() {
    std::string path = ::testing::TempDir() + "weft_XXXXXX";
    if (::mkdtemp(path.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(), "cannot make the directory " + path);
    return path;
}

void remove_folder(const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
}

// The directory of this process.
class process_folder : public ::testing::Environment {
public:
    void SetUp() override {
        path_ = make_folder();
        ::setenv("TEST_TMPDIR", path_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): no test has started a thread
    }

    void TearDown() override { remove_folder(path_); }

private:
    std::string path_;
};

[[maybe_unused]] ::testing::Environment* const registered = ::testing::AddGlobalTestEnvironment(new process_folder);

}  // namespace

temp_folder::temp_folder() : path_(make_folder()) {}

temp_folder::~temp_folder() { remove_folder(path_); }

void evict(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::fsync(fd);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    ::close(fd);
}

}  // namespace weft::test
