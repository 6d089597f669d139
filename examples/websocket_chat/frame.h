// frame.h: WebSocket frames as a server sends them (RFC 6455, 5.2). They are not masked, so a frame
// is the same for every receiver.
//
// A message to a room is encoded once, and all receivers share the bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace websocket_chat {

// A complete frame. Immutable, and shared by all senders.
using frame = std::shared_ptr<const std::string>;

[[nodiscard]] frame text_frame(std::string_view text);
[[nodiscard]] frame ping_frame();

// why: at most 123 bytes.
[[nodiscard]] frame close_frame(uint16_t code, std::string_view why);

// Whether first, the first byte of a frame, begins a close frame.
[[nodiscard]] constexpr bool begins_close_frame(unsigned char first) noexcept { return (first & 0x0FU) == 0x8U; }

}  // namespace websocket_chat
