// exchange.h: one request, from its header to the end of its answer.
//
//     client ── header ──▶ choose a back end ── header ──▶ back end
//            ══ body ═════════════════════════════════════▶          a green thread of its own (body_sender)
//            ◀═════════════════════════════════ header, body ══
//
// Both directions go on at the same time: a back end may answer before it has got all, to say that it wants no more of it.
//
// Once more. A request is given to another back end if it cannot be connected to, and, if it may be repeated (GET and its like, without a body), also if the
// back end goes away without an answer. Not if it is late: it may be busy with it. A kept connection that fails is replaced by a new one.
//
// As long as nothing of an answer was sent to the client, what goes wrong is told to it (refusal: 502, 504 …). After that a cut connection tells it.
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
    // client, buffer (what was read from it beyond the header), p, which has read the header, and all the others live longer.
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
    // Of the request as the client has sent it.
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
