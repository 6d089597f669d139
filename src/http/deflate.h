// deflate.h: compresses data as deflate (RFC 1951), by Boost.Beast's port of zlib. So the library
// needs no zlib.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace weft::http::detail {

class deflater {
public:
    enum class end {
        part,   // the receiver can decompress all so far (a sync flush); more may follow
        whole,  // the end of the data
    };

    static constexpr int largest_window = 15;

    // window_bits: the receiver keeps 2^window_bits bytes of what it has decompressed; 9 to 15.
    explicit deflater(int window_bits = largest_window);
    ~deflater();

    deflater(const deflater&) = delete;
    deflater& operator=(const deflater&) = delete;

    // Appends the compressed data. Throws std::bad_alloc.
    void add(std::string_view data, std::string& to);

    // Appends what add() has kept back.
    void flush(end how, std::string& to);

    // For other data.
    void reset();

private:
    class stream;

    std::unique_ptr<stream> stream_;
};

}  // namespace weft::http::detail
