// page.h: the web page of the chat.
#pragma once

#include <string_view>

namespace websocket_chat {

[[nodiscard]] std::string_view page() noexcept;

}  // namespace websocket_chat
