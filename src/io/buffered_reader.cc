// buffered_reader.cc: see weft/io/buffered_reader.h.
#include <stdexcept>
#include <string>

#include <weft/io/buffered_reader.h>

namespace weft::io::detail {

void report_too_long(std::size_t longest, std::error_code* ec) {
    const std::error_code too_long = std::make_error_code(std::errc::message_size);
    if (ec == nullptr) {
        throw std::system_error(too_long, "weft: buffered_reader: more than " + std::to_string(longest) +
                                              " bytes before the end of a piece");
    }
    *ec = too_long;
}

void throw_empty_delimiter() {
    throw std::invalid_argument("weft: buffered_reader::read_until: the delimiter is empty");
}

}  // namespace weft::io::detail
