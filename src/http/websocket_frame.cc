// websocket_frame.cc: see websocket_frame.h.
#include "http/websocket_frame.h"

#include <algorithm>

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

void frame_tracker::read_head(unsigned char next) noexcept {
    constexpr unsigned control = 0x08;
    constexpr unsigned mask_bit = 0x80;
    constexpr std::size_t mask_size = 4;
    constexpr std::size_t two_bytes_follow = 126;
    const std::size_t at = head_read_++;
    if (at == 0) {
        is_in_frame_ = true;
        if ((next & control) == 0) is_in_message_ = (next & is_last_frame) == 0;
    } else if (at == 1) {
        const unsigned size = next & ~mask_bit;
        size_bytes_ = size < two_bytes_follow ? 0 : size == two_bytes_follow ? 2 : 8;
        payload_left_ = size_bytes_ == 0 ? size : 0;
        head_size_ = least_head + size_bytes_ + ((next & mask_bit) != 0 ? mask_size : 0);
    } else if (at < least_head + size_bytes_) {
        payload_left_ = payload_left_ << 8 | next;
    }
}

void frame_tracker::add(std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        if (head_read_ < head_size_) {
            read_head(static_cast<unsigned char>(bytes.front()));
            bytes.remove_prefix(1);
        } else {
            const auto n = static_cast<std::size_t>(std::min<uint64_t>(payload_left_, bytes.size()));
            payload_left_ -= n;
            bytes.remove_prefix(n);
        }
        if (head_read_ < head_size_ || payload_left_ != 0) continue;
        is_in_frame_ = false;
        head_read_ = 0;
        head_size_ = least_head;
    }
}

std::string close_payload(uint16_t code, std::string_view reason) {
    std::string payload;
    payload += static_cast<char>(code >> 8);
    payload += static_cast<char>(code & 0xFF);
    payload += reason;
    return payload;
}

}  // namespace weft::http::detail
