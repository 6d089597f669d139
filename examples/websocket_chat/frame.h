// frame.h: WebSocket frames as a server sends them (RFC 6455, 5.2): not masked, and so the same for every receiver.
//
// So what is said in a room is encoded once, however many hear it: they share the bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace websocket_chat {

// Ready to be sent. Never changed, and shared by all who send it.
using frame = std::shared_ptr<const std::string>;

[[nodiscard]] frame text_frame(std::string_view text);
[[nodiscard]] frame ping_frame();

// why: at most 123 bytes.
[[nodiscard]] frame close_frame(uint16_t code, std::string_view why);

// Whether these bytes, the first of a frame, begin a close frame.
[[nodiscard]] constexpr bool begins_close_frame(unsigned char first) noexcept { return (first & 0x0FU) == 0x8U; }

}  // namespace websocket_chat
