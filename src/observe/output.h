// output.h: a file that is written in large pieces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::observe::detail {

// All functions throw std::system_error, which names the file.
class output {
public:
    static constexpr std::size_t piece = std::size_t{256} * 1024;

    // Creates the file, or empties it.
    explicit output(const std::string& path);

    ~output();

    output(const output&) = delete;
    output& operator=(const output&) = delete;

    void append(std::string_view bytes);
    void close();

private:
    [[noreturn]] void fail(const char* what, int error) const;

    std::string path_;
    int fd_;
};

}  // namespace weft::observe::detail
