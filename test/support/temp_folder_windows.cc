// temp_folder_windows.cc: see temp_folder.h.
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <gtest/gtest.h>

#include "os/windows_api.h"
#include "temp_folder.h"

namespace weft::test {

namespace {

std::string make_folder() {
    static std::atomic<int> number = 0;
    const std::string path =
        ::testing::TempDir() + "weft_" + std::to_string(GetCurrentProcessId()) + '_' + std::to_string(++number);
    if (!std::filesystem::create_directory(path)) throw std::runtime_error("cannot make the directory " + path);
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
        ::_putenv_s("TEST_TMPDIR", path_.c_str());
    }

    void TearDown() override { remove_folder(path_); }

private:
    std::string path_;
};

[[maybe_unused]] ::testing::Environment* const registered = ::testing::AddGlobalTestEnvironment(new process_folder);

}  // namespace

temp_folder::temp_folder() : path_(make_folder()) {}

temp_folder::~temp_folder() { remove_folder(path_); }

// The system has no call for it.
void evict(const std::string& /*path*/) {}

}  // namespace weft::test
