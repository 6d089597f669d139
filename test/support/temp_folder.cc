#include "temp_folder.h"

#include <filesystem>
#include <optional>
#include <random>
#include <stdexcept>
#include <system_error>

#include <gtest/gtest.h>

#include "environment.h"

namespace weft::test {

namespace {

// With a name that no other process has.
std::string make_folder() {
    namespace fs = std::filesystem;
    std::random_device random;
    for (int tries = 0; tries < 100; ++tries) {
        const std::string path = ::testing::TempDir() + "weft_" + std::to_string(random());
        if (!fs::create_directory(path)) continue;
        fs::permissions(path, fs::perms::owner_all);
        return path;
    }
    throw std::runtime_error("cannot make a directory in " + ::testing::TempDir());
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
        instead_.emplace("TEST_TMPDIR", path_.c_str());
    }

    void TearDown() override {
        instead_.reset();  // the tests may be run again
        remove_folder(path_);
    }

private:
    std::string path_;
    std::optional<environment_variable> instead_;
};

[[maybe_unused]] ::testing::Environment* const registered = ::testing::AddGlobalTestEnvironment(new process_folder);

}  // namespace

temp_folder::temp_folder() : path_(make_folder()) {}

temp_folder::~temp_folder() { remove_folder(path_); }

}  // namespace weft::test
