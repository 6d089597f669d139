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

// Whether first, the first byte of a frame, begins a close frame.
[[nodiscard]] constexpr bool begins_close_frame(unsigned char first) noexcept { return (first & 0x0FU) == 0x8U; }

// The payload of a close frame.
[[nodiscard]] std::string close_payload(uint16_t code, std::string_view reason);

}  // namespace weft::http::detail
