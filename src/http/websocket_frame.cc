// websocket_frame.cc: see websocket_frame.h.
#include "http/websocket_frame.h"

namespace weft::http::detail {

namespace {

constexpr uint8_t is_last_frame = 0x80;   // FIN: a message is one frame
constexpr uint8_t compressed_bit = 0x40;  // RSV1 (RFC 7692, 6)

}  // namespace

frame_head::frame_head(opcode what, std::size_t payload_size, bool is_compressed) noexcept {
    constexpr std::size_t longest_short = 125;
    constexpr char two_bytes_follow = 126;
    constexpr char eight_bytes_follow = 127;
    const unsigned first =
        is_last_frame | (is_compressed ? compressed_bit : 0U) | static_cast<unsigned>(static_cast<uint8_t>(what));
    bytes_[size_++] = static_cast<char>(first);
    std::size_t bytes = 1;
    if (payload_size > 0xFFFF) {
        bytes_[size_++] = eight_bytes_follow;
        bytes = 8;
    } else if (payload_size > longest_short) {
        bytes_[size_++] = two_bytes_follow;
        bytes = 2;
    }
    const uint64_t n = payload_size;
    for (std::size_t i = bytes; i-- > 0;) bytes_[size_++] = static_cast<char>(n >> (8 * i));
}

std::string close_payload(uint16_t code, std::string_view reason) {
    std::string payload;
    payload += static_cast<char>(code >> 8);
    payload += static_cast<char>(code & 0xFF);
    payload += reason;
    return payload;
}

}  // namespace weft::http::detail
