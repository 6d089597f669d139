// deflate.cc: see deflate.h.
#include "http/deflate.h"

#include <algorithm>
#include <boost/beast/zlib/deflate_stream.hpp>
#include <boost/beast/zlib/error.hpp>
#include <boost/beast/zlib/zlib.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <stdexcept>

namespace weft::http::detail {

namespace zlib = boost::beast::zlib;

class deflater::stream {
public:
    explicit stream(int window_bits) : window_bits_(window_bits) { reset(); }

    // zlib's default level, and half of its memory: 128 KiB.
    void reset() { all_.reset(6, window_bits_, 7, zlib::Strategy::normal); }

    void write(std::string_view data, zlib::Flush how, std::string& to) {
        constexpr std::size_t least_room = 1024;
        zlib::z_params p;
        p.next_in = data.data();
        p.avail_in = data.size();
        for (;;) {
            const std::size_t used = to.size();
            to.resize(used + std::max(least_room, p.avail_in / 2));
            p.next_out = to.data() + used;
            p.avail_out = to.size() - used;
            boost::system::error_code ec;
            all_.write(p, how, ec);
            to.resize(to.size() - p.avail_out);
            if (ec == zlib::error::end_of_stream) return;
            // There was nothing to do.
            if (ec == zlib::error::need_buffers) return;
            if (ec) throw std::logic_error("weft: cannot compress: " + ec.message());
            if (p.avail_in == 0 && p.avail_out != 0) return;
        }
    }

private:
    const int window_bits_;
    zlib::deflate_stream all_;
};

deflater::deflater(int window_bits) : stream_(std::make_unique<stream>(window_bits)) {}

deflater::~deflater() = default;

void deflater::add(std::string_view data, std::string& to) {
    if (!data.empty()) stream_->write(data, zlib::Flush::none, to);
}

void deflater::flush(end how, std::string& to) {
    stream_->write({}, how == end::whole ? zlib::Flush::finish : zlib::Flush::sync, to);
}

void deflater::reset() { stream_->reset(); }

}  // namespace weft::http::detail
