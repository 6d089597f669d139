// relay.h: copies from one connection to another, through a buffer of fixed size.
//
// The fixed size is all the back-pressure that is needed. If the receiver is slow, the next write
// waits and the proxy reads no more, so TCP flow control stops the sender. A slow client costs 16
// KiB here, whatever it has requested, for at most stall_time.
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

// Relays the body of a message whose header was read by p and written by s. buffer holds what was
// read from `from` beyond the parsed part. To stop it, set is_stopped, and then the read deadline
// of `from` to now.
relay_result relay_body(stream& from,
                        boost::beast::flat_buffer& buffer,
                        request_parser& p,
                        stream& to,
                        http::request_serializer<http::buffer_body>& s,
                        std::chrono::milliseconds stall_time,
                        const std::atomic<bool>& is_stopped);
relay_result relay_body(stream& from,
                        boost::beast::flat_buffer& buffer,
                        answer_parser& p,
                        stream& to,
                        http::response_serializer<http::buffer_body>& s,
                        std::chrono::milliseconds stall_time);

// Relays bytes both ways until both sides have ended, one has failed, or neither has sent anything
// for idle_time. early_a and early_b were already read from a and b.
void relay_both_ways(weft::net::tcp_stream& a,
                     std::string_view early_a,
                     weft::net::tcp_stream& b,
                     std::string_view early_b,
                     std::chrono::milliseconds idle_time);

}  // namespace reverse_proxy
