// answer_writer.h: sends answers: those that are short in one piece with their header, files as far as the client takes them.
#pragma once

#include <cstdint>

#include <weft/asio/stream.h>

#include "answer.h"
#include "options.h"
#include "transport.h"

namespace http_server {

// What the request wants of its answer.
struct answer_form {
    unsigned version = 11;
    bool header_only = false;  // HEAD
    bool keep_alive = false;
};

// Completes the header, and sends all. sent: bytes of the body, in any case. False: not everything has got away, and the connection cannot be
// used any more.
[[nodiscard]] bool send_answer(
    weft::asio::stream<transport>& to, answer& a, const answer_form& form, const limits& allowed, uint64_t& sent);

}  // namespace http_server
