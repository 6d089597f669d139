// answer_writer.h: sends answers: short ones in one piece with their header, files in pieces, as
// fast as the client accepts them.
#pragma once

#include <cstdint>

#include <weft/asio/stream.h>

#include "answer.h"
#include "options.h"
#include "transport.h"

namespace http_server {

// How the answer must look for the request.
struct answer_form {
    unsigned version = 11;
    bool header_only = false;  // for HEAD
    bool keep_alive = false;
};

// Completes the header, and sends the answer. sent is always set to the bytes of the body that were
// sent. Returns false if the answer was not sent as a whole; the connection cannot be used again
// then.
[[nodiscard]] bool send_answer(
    weft::asio::stream<transport>& to, answer& a, const answer_form& form, const limits& allowed, uint64_t& sent);

}  // namespace http_server
