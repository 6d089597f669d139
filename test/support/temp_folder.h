// temp_folder.h: a directory for one test, removed with its contents when the test ends.
//
// Every test process owns one directory, made before its first test and removed after its last one; temp_folder makes its own inside it.
// A death test runs in a child that never reaches a destructor. The child finds the directory of its parent in TEST_TMPDIR, which
// GoogleTest reads, so what the child leaves goes when the parent ends.
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

// Drops the file's pages from the page cache, so that reading it needs the disk, where there is one.
void evict(const std::string& path);

}  // namespace weft::test
