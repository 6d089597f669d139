// exchange.h: one request, from its header to the end of its answer.
//
//     client ── header ──▶ choose a back end ── header ──▶ back end
//            ══ body ═════════════════════════════════════▶          a green thread of its own (body_sender)
//            ◀═════════════════════════════════ header, body ══
//
// Both directions run at the same time: a back end may answer before it has received the whole
// body, to refuse the rest.
//
// Retries. A request goes to another back end in two cases:
//
// - The back end cannot be connected to.
// - The back end closes the connection without an answer, and the request may be repeated (GET,
//   HEAD, OPTIONS or TRACE, without a body).
//
// In the second case, if the connection was a kept one, the retry makes a new one, possibly to the
// same back end. A late answer causes no retry: the back end may still be working on the request.
//
// Errors. Until a byte of the answer was sent to the client, it gets an error page (refusal: 502,
// 504 …). After that, the connection is cut.
#pragma once

#include <string_view>
#include <vector>

#include "backends.h"
#include "clients.h"
#include "http.h"
#include "options.h"

namespace reverse_proxy {

class exchange {
public:
    // p has read the header. buffer holds what was read from the client beyond it. All arguments
    // must outlive the exchange.
    exchange(stream& client,
             boost::beast::flat_buffer& buffer,
             request_parser& p,
             std::string_view client_address,
             clients::entry& place,
             backends& all,
             const limits& allowed);

    // Returns whether the client's connection can be used for another request. Throws refusal.
    bool run();

private:
    struct connected;
    class body_sender;
    struct no_answer;

    connected connect();
    bool talk(connected& to);
    void read_answer_header(connected& to);
    bool pass_answer_on(connected& to, body_sender* sender);
    bool go_on_in_another_protocol(connected& to);
    [[noreturn]] void refuse(const boost::system::error_code& why) const;

    stream& client_;
    boost::beast::flat_buffer& buffer_;
    request_parser& request_;
    clients::entry& place_;
    backends& all_;
    const limits& allowed_;
    // Properties of the request as the client sent it.
    const unsigned client_version_;
    const bool keep_alive_;
    const bool has_body_;
    const bool expects_continue_;
    const bool may_be_repeated_;
    const bool is_head_;
    const bool wants_upgrade_;

    std::vector<backend*> tried_;
    boost::system::error_code last_failure_;
    bool kept_ones_may_be_used_ = true;
};

}  // namespace reverse_proxy
