// fields.h: how the proxy changes headers.
//
// Some fields are only for the next hop, and are removed: those of a fixed list, and those that
// Connection names (RFC 9110, 7.6.1). Each hop has its own fields that delimit the body.
#pragma once

#include <string>
#include <string_view>

#include "http.h"

namespace reverse_proxy {

// Throws refusal if another server could interpret the request as a different one.
void check(const request_parser& p);

// Whether the proxy understands how the answer's body is delimited.
[[nodiscard]] bool is_understood(const answer_parser& p);

// Whether the client wants to switch to another protocol on this connection, for example WebSocket.
[[nodiscard]] bool wants_upgrade(const http::fields& fields);

// Turns the client's request into the one for the back end.
void prepare_request(request_parser& p, std::string_view client_address);

// Turns the back end's answer into the one for a client with that version. Returns whether the
// client's connection can be kept open; if not, the answer says so.
bool prepare_answer(answer_parser& p, unsigned client_version, bool keep_alive);

}  // namespace reverse_proxy
