// fields.h: what becomes of a header on its way through.
//
// Some fields are for the next hop only, and end here: those of a fixed list, and those that Connection names (RFC 9110, 7.6.1). How the body is
// delimited is said anew for each hop.
#pragma once

#include <string>
#include <string_view>

#include "http.h"

namespace reverse_proxy {

// Throws refusal where somebody who understands the request otherwise than we do could be led to see another one in it.
void check(const request_parser& p);

// Whether an answer's body is delimited in a way that we understand.
[[nodiscard]] bool is_understood(const answer_parser& p);

// Whether the client wants to go on in another protocol on the same connection: WebSocket, for one.
[[nodiscard]] bool wants_upgrade(const http::fields& fields);

// Makes of the client's request the one for the back end.
void prepare_request(request_parser& p, std::string_view client_address);

// Makes of the back end's answer the one for a client of that version. Returns whether its connection can go on afterwards; if not, the answer says so.
bool prepare_answer(answer_parser& p, unsigned client_version, bool keep_alive);

}  // namespace reverse_proxy
