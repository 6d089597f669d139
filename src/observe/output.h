// output.h: a file that is written in large pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::observe::detail {

// All functions throw std::system_error, which names the file.
class output {
public:
    static constexpr std::size_t piece = std::size_t{256} * 1024;

    enum class mode : uint8_t {
        replace,  // creates the file, or empties it; "-" is standard output
        create,   // fails with EEXIST if the path exists, also as a link
    };

    explicit output(const std::string& path, mode how = mode::replace);

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
