#include "frame.h"

#include <utility>

namespace websocket_chat {

namespace {

enum opcode : unsigned char { text = 0x1, close = 0x8, ping = 0x9 };

constexpr unsigned char whole = 0x80;  // FIN: the first frame of the message is its last

void append_number(std::string& to, uint64_t n, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) to += static_cast<char>(n >> (8 * i));
}

frame make(opcode what, std::string_view payload) {
    std::string bytes;
    bytes.reserve(payload.size() + 10);
    bytes += static_cast<char>(whole | what);
    if (payload.size() < 126) {
        append_number(bytes, payload.size(), 1);
    } else if (payload.size() <= 0xFFFF) {
        bytes += static_cast<char>(126);
        append_number(bytes, payload.size(), 2);
    } else {
        bytes += static_cast<char>(127);
        append_number(bytes, payload.size(), 8);
    }
    bytes += payload;
    return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace

frame text_frame(std::string_view payload) { return make(text, payload); }

frame ping_frame() { return make(ping, {}); }

frame close_frame(uint16_t code, std::string_view why) {
    std::string payload;
    append_number(payload, code, 2);
    payload += why;
    return make(close, payload);
}

}  // namespace websocket_chat
