// stream_concepts.cc: see weft/io/stream_concepts.h.
#include <stdexcept>
#include <string>

#include <weft/io/stream_concepts.h>

namespace weft::io::detail {

void throw_wrong_count(const char* call) {
    throw std::logic_error(
        std::string("weft: a stream's ") + call +
        " has returned more bytes than the buffer has, or none without an error; correct the stream");
}

}  // namespace weft::io::detail
