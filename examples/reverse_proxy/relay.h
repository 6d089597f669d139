// relay.h: from one connection to another, through a piece of memory that does not grow.
//
// That is all the back-pressure there is: who takes nothing lets the next write wait, and then nothing is read from the other one, whom the system's
// own flow control stops. A slow client costs 16 KiB here, whatever it has asked for, and for stall_time at most.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string_view>

#include <weft/net/tcp.h>

#include "http.h"

namespace reverse_proxy {

inline constexpr std::size_t relayed_at_a_time = std::size_t{16} * 1024;

// How a relay has ended.
enum class relayed { all, source_failed, sink_failed };

struct relay_result {
    relayed how;
    boost::system::error_code why;  // timed_out: it was too slow
};

// The body of a message whose header was read by p and written by s. buffer: what was read from `from` beyond what was parsed.
relay_result relay_body(stream& from,
                        boost::beast::flat_buffer& buffer,
                        request_parser& p,
                        stream& to,
                        http::request_serializer<http::buffer_body>& s,
                        std::chrono::milliseconds stall_time);
relay_result relay_body(stream& from,
                        boost::beast::flat_buffer& buffer,
                        answer_parser& p,
                        stream& to,
                        http::response_serializer<http::buffer_body>& s,
                        std::chrono::milliseconds stall_time);

// Both ways, whatever it is, until both sides have said their last, or one has failed, or nothing has moved either way for idle_time. early_a and early_b:
// what was read from a, or b, before.
void relay_both_ways(weft::net::tcp_stream& a,
                     std::string_view early_a,
                     weft::net::tcp_stream& b,
                     std::string_view early_b,
                     std::chrono::milliseconds idle_time);

}  // namespace reverse_proxy
