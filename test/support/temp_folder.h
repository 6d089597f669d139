// temp_folder.h: a directory for one test, removed with its contents when the test ends.
//
// Each test process makes one directory before its first test and removes it after the last one; a
// temp_folder is inside. A death test's child never runs destructors. It uses its parent's
// directory, from TEST_TMPDIR, which GoogleTest reads, so the parent removes its files.
#pragma once

#include <string>

namespace weft::test {

class temp_folder {
public:
    temp_folder();
    ~temp_folder();
    temp_folder(const temp_folder&) = delete;
    temp_folder& operator=(const temp_folder&) = delete;

    [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + '/' + name; }

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

// Evicts the file from the page cache, so that reading it needs the disk, if there is one.
void evict(const std::string& path);

}  // namespace weft::test
