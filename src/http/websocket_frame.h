// websocket_frame.h: frames as a server sends them (RFC 6455, 5.2): whole messages, not masked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::http::detail {

enum class opcode : uint8_t { text = 0x1, binary = 0x2, close = 0x8, ping = 0x9 };

// The bytes before the payload.
class frame_head {
public:
    frame_head(opcode what, std::size_t payload_size, bool is_compressed = false) noexcept;

    [[nodiscard]] std::string_view bytes() const noexcept { return {bytes_.data(), size_}; }

private:
    static constexpr std::size_t longest = 10;

    std::array<char, longest> bytes_{};
    std::size_t size_ = 0;
};

// Follows the frames that the client sends, to know whether a message or a frame has begun, and is
// not complete. It does not judge them: Beast refuses what is wrong.
class frame_tracker {
public:
    void add(std::string_view bytes) noexcept;

    [[nodiscard]] bool is_between_messages() const noexcept { return !is_in_frame_ && !is_in_message_; }

private:
    static constexpr std::size_t least_head = 2;

    void read_head(unsigned char next) noexcept;

    bool is_in_message_ = false;  // more frames follow
    bool is_in_frame_ = false;
    std::size_t head_read_ = 0;  // bytes of the current frame's head
    std::size_t head_size_ = least_head;
    std::size_t size_bytes_ = 0;  // of the head: the long forms of the size
    uint64_t payload_left_ = 0;
};

// Whether first, the first byte of a frame, begins a close frame.
[[nodiscard]] constexpr bool begins_close_frame(unsigned char first) noexcept { return (first & 0x0FU) == 0x8U; }

// The payload of a close frame.
[[nodiscard]] std::string close_payload(uint16_t code, std::string_view reason);

}  // namespace weft::http::detail
