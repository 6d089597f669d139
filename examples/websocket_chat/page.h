// page.h: the page of the chat, for browsers.
#pragma once

#include <string_view>

namespace websocket_chat {

[[nodiscard]] std::string_view page() noexcept;

}  // namespace websocket_chat
