#include "relay.h"

#include <array>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <system_error>
#include <vector>

#include <weft/error.h>
#include <weft/wait_group.h>

namespace reverse_proxy {

namespace {

using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using weft::net::tcp_stream;

// Each read takes what is available instead of filling the buffer, so that an answer that arrives
// in small pieces is forwarded at once.
template <bool is_request>
relay_result relay_message(stream& from,
                           boost::beast::flat_buffer& buffer,
                           http::parser<is_request, http::buffer_body>& p,
                           stream& to,
                           http::serializer<is_request, http::buffer_body>& s,
                           milliseconds stall_time,
                           const std::atomic<bool>& is_stopped) {
    std::vector<char> piece(relayed_at_a_time);
    http::buffer_body::value_type& body = p.get().body();
    error_code ec;
    while (!s.is_done()) {
        body.data = piece.data();
        body.size = piece.size();
        if (!p.is_done()) {
            from.next_layer().set_read_deadline(steady_clock::now() + stall_time);
            if (is_stopped) from.next_layer().set_read_deadline(steady_clock::now());
            http::read_some(from, buffer, p, ec);
            if (ec && ec != http::error::need_buffer) return {relayed::source_failed, ec};
        }
        body.size = piece.size() - body.size;
        body.data = piece.data();
        body.more = !p.is_done();
        if (body.size == 0 && body.more) continue;  // only the beginning of a chunk has arrived
        if (body.size == 0) body.data = nullptr;
        to.next_layer().set_write_deadline(steady_clock::now() + stall_time);
        http::write(to, s, ec);
        if (ec && ec != http::error::need_buffer) return {relayed::sink_failed, ec};
    }
    return {relayed::all, {}};
}

// Implements relay_both_ways().
class tunnel {
public:
    tunnel(tcp_stream& a, tcp_stream& b, milliseconds idle_time) : a_(a), b_(b), idle_time_(idle_time) { moved(); }

    void run(std::string_view early_a, std::string_view early_b) {
        weft::wait_group other;
        other.go([&] { pump(b_, early_b, a_); });
        pump(a_, early_a, b_);
        other.wait();
    }

private:
    // Copies until from ends, then closes the sending side of to. An error closes both connections,
    // so that the other direction ends, too.
    void pump(tcp_stream& from, std::string_view early, tcp_stream& to) {
        std::error_code ec;
        to.set_write_deadline(steady_clock::now() + idle_time_);
        to.write_all(early, ec);
        std::vector<char> piece(relayed_at_a_time);
        while (!ec) {
            from.set_read_deadline(last_moved() + idle_time_);
            const std::size_t n = from.read_some({piece.data(), piece.size()}, ec);
            if (ec == weft::errc::timed_out && last_moved() + idle_time_ > steady_clock::now()) {
                ec.clear();  // the other direction has made progress
                continue;
            }
            if (ec) break;
            if (n == 0) {
                to.shutdown_send(ec);
                return;
            }
            moved();
            to.set_write_deadline(steady_clock::now() + idle_time_);
            to.write_all({piece.data(), n}, ec);
            moved();
        }
        a_.close();
        b_.close();
    }

    void moved() { moved_ = steady_clock::now().time_since_epoch().count(); }

    steady_clock::time_point last_moved() const { return steady_clock::time_point(steady_clock::duration(moved_)); }

    tcp_stream& a_;
    tcp_stream& b_;
    const milliseconds idle_time_;
    std::atomic<steady_clock::rep> moved_;
};

}  // namespace

relay_result relay_body(stream& from,
                        boost::beast::flat_buffer& buffer,
                        request_parser& p,
                        stream& to,
                        http::request_serializer<http::buffer_body>& s,
                        milliseconds stall_time,
                        const std::atomic<bool>& is_stopped) {
    return relay_message<true>(from, buffer, p, to, s, stall_time, is_stopped);
}

relay_result relay_body(stream& from,
                        boost::beast::flat_buffer& buffer,
                        answer_parser& p,
                        stream& to,
                        http::response_serializer<http::buffer_body>& s,
                        milliseconds stall_time) {
    static constexpr std::atomic<bool> never = false;
    return relay_message<false>(from, buffer, p, to, s, stall_time, never);
}

void relay_both_ways(
    tcp_stream& a, std::string_view early_a, tcp_stream& b, std::string_view early_b, milliseconds idle_time) {
    tunnel(a, b, idle_time).run(early_a, early_b);
}

}  // namespace reverse_proxy
