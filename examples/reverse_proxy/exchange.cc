#include "exchange.h"

#include <atomic>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <weft/wait_group.h>

#include "fields.h"
#include "relay.h"

namespace reverse_proxy {

namespace {

using boost::beast::flat_buffer;
using boost::system::error_code;
using std::chrono::steady_clock;
using weft::net::tcp_stream;

// The limit on interim answers ("100 Continue", "103 Early Hints") before the final one. They are
// dropped.
constexpr int most_interim_answers = 10;

bool is_idempotent(http::verb v) {
    return v == http::verb::get || v == http::verb::head || v == http::verb::options || v == http::verb::trace;
}

std::string_view text_of(const flat_buffer& b) { return {static_cast<const char*>(b.data().data()), b.size()}; }

}  // namespace

// A back end, and a connection to it.
struct exchange::connected {
    assignment to;
    stream connection;
    bool was_kept;
    flat_buffer buffer{};  // read beyond the parsed part
    std::optional<answer_parser> answer{};
};

// The back end closed the connection, or was too slow, before its answer began.
struct exchange::no_answer {
    error_code why;
};

// Sends the body of a request while the answer is read.
class exchange::body_sender {
public:
    body_sender(stream& client,
                flat_buffer& buffer,
                request_parser& p,
                stream& to,
                http::request_serializer<http::buffer_body>& s,
                const limits& allowed)
        : client_(client), to_(to) {
        sending_.go([&, this] {
            result_ = relay_body(client, buffer, p, to, s, allowed.stall_time, is_stopped_);
            client_failed_ = result_.how == relayed::source_failed && !is_stopped_;
            if (result_.how == relayed::source_failed)
                to.next_layer().close();  // an incomplete request must not look complete
            // From now on the answer has a deadline. The green thread that reads it is already
            // waiting.
            to.next_layer().set_read_deadline(steady_clock::now() + allowed.answer_time);
            has_sent_all_ = result_.how == relayed::all;
        });
    }

    body_sender(const body_sender&) = delete;
    body_sender& operator=(const body_sender&) = delete;

    ~body_sender() {
        if (has_sent_all_) {
            sending_.wait();
        } else {
            stop();
        }
    }

    [[nodiscard]] bool has_sent_all() const noexcept { return has_sent_all_; }

    // Aborts the transfer at any point. Neither connection can be used for anything else
    // afterwards.
    void stop() {
        is_stopped_ = true;
        to_.next_layer().close();
        client_.next_layer().set_read_deadline(steady_clock::now());
        sending_.wait();
    }

    // After stop(): why the client failed before it; nullopt if it did not.
    [[nodiscard]] std::optional<error_code> failure_of_client() const {
        return client_failed_ ? std::optional(result_.why) : std::nullopt;
    }

private:
    stream& client_;
    stream& to_;
    weft::wait_group sending_;
    relay_result result_{relayed::all, {}};  // written by the sending green thread until it ends, as the next one
    bool client_failed_ = false;
    std::atomic<bool> has_sent_all_ = false;
    std::atomic<bool> is_stopped_ = false;
};

exchange::exchange(stream& client,
                   flat_buffer& buffer,
                   request_parser& p,
                   std::string_view client_address,
                   clients::entry& place,
                   backends& all,
                   const limits& allowed)
    : client_(client),
      buffer_(buffer),
      request_(p),
      place_(place),
      all_(all),
      allowed_(allowed),
      client_version_(p.get().version() >= 11 ? 11 : 10),
      keep_alive_(p.keep_alive()),
      has_body_(!p.is_done()),
      expects_continue_(p.get().version() >= 11 && boost::beast::iequals(p.get()[http::field::expect], "100-continue")),
      may_be_repeated_(!has_body_ && is_idempotent(p.get().method())),
      is_head_(p.get().method() == http::verb::head),
      wants_upgrade_(p.get().version() >= 11 && wants_upgrade(p.get())) {
    prepare_request(p, client_address);
}

bool exchange::run() {
    for (;;) {
        connected to = connect();
        try {
            return talk(to);
        } catch (const no_answer& e) {
            if (!may_be_repeated_ || e.why == boost::asio::error::timed_out) refuse(e.why);
            last_failure_ = e.why;
            if (to.was_kept) {
                kept_ones_may_be_used_ = false;  // the others may be equally stale
            } else {
                tried_.push_back(&*to.to);
            }
        }
    }
}

exchange::connected exchange::connect() {
    while (backend* const b = all_.choose(tried_)) {
        assignment to(*b);
        if (kept_ones_may_be_used_) {
            if (std::optional<tcp_stream> kept = b->take_kept()) return {std::move(to), stream(std::move(*kept)), true};
        }
        std::error_code ec;
        tcp_stream s = b->connect(ec);
        if (!ec) return {std::move(to), stream(std::move(s)), false};
        last_failure_ = weft::asio::to_boost(ec);
        tried_.push_back(b);
    }
    refuse(last_failure_);
}

// Sends the request, and forwards the answer.
bool exchange::talk(connected& to) {
    http::request_serializer<http::buffer_body> serializer(request_.get());
    error_code ec;
    to.connection.next_layer().set_write_deadline(steady_clock::now() + allowed_.stall_time);
    http::write_header(to.connection, serializer, ec);
    if (ec) throw no_answer{ec};
    if (!has_body_) {
        to.connection.next_layer().set_read_deadline(steady_clock::now() + allowed_.answer_time);
        read_answer_header(to);
        return pass_answer_on(to, nullptr);
    }
    if (expects_continue_ && buffer_.size() == 0) {
        boost::asio::write(client_, boost::asio::buffer("HTTP/1.1 100 Continue\r\n\r\n", 25), ec);
        if (ec) return false;
    }
    body_sender sender(client_, buffer_, request_, to.connection, serializer, allowed_);
    try {
        read_answer_header(to);
    } catch (const no_answer&) {
        sender.stop();
        const std::optional<error_code> why = sender.failure_of_client();
        if (!why) throw;
        if (*why == boost::asio::error::timed_out)
            throw refusal{http::status::request_timeout, "the body did not arrive in time"};
        throw refusal{http::status::bad_request, "the body is invalid: " + why->message()};
    }
    return pass_answer_on(to, &sender);
}

void exchange::read_answer_header(connected& to) {
    for (int i = 0; i < most_interim_answers; ++i) {
        to.answer.emplace();
        to.answer->header_limit(static_cast<uint32_t>(allowed_.header_bytes));
        to.answer->body_limit(boost::none);
        to.answer->skip(is_head_);
        error_code ec;
        http::read_header(to.connection, to.buffer, *to.answer, ec);
        if (ec) throw no_answer{ec};
        const unsigned status = to.answer->get().result_int();  // Beast has no names for some statuses
        if (status / 100 != 1 || status == static_cast<unsigned>(http::status::switching_protocols)) return;
    }
    throw no_answer{http::error::bad_status};
}

bool exchange::pass_answer_on(connected& to, body_sender* sender) {
    answer_parser& answer = *to.answer;
    if (!is_understood(answer)) refuse(http::error::bad_transfer_encoding);
    const bool upgraded = answer.get().result() == http::status::switching_protocols;
    if (upgraded && !wants_upgrade_) refuse(http::error::bad_status);
    const bool can_be_kept = answer.keep_alive() && !answer.need_eof();
    const bool request_is_over = sender == nullptr || sender->has_sent_all();
    const bool keep_alive =
        prepare_answer(answer, client_version_, keep_alive_ && request_is_over && !place_.is_last());

    http::response_serializer<http::buffer_body> serializer(answer.get());
    error_code ec;
    client_.next_layer().set_write_deadline(steady_clock::now() + allowed_.stall_time);
    http::write_header(client_, serializer, ec);
    if (ec) return false;
    if (upgraded) return go_on_in_another_protocol(to);
    if (!answer.is_done()) {
        const relay_result r = relay_body(to.connection, to.buffer, answer, client_, serializer, allowed_.stall_time);
        if (r.how != relayed::all) {
            client_.next_layer().close();  // an incomplete answer must not look complete
            return false;
        }
    }
    if (request_is_over && can_be_kept && to.buffer.size() == 0) {
        to.connection.next_layer().clear_deadline();
        to.to->keep(std::move(to.connection.next_layer()));
    }
    return keep_alive;
}

bool exchange::go_on_in_another_protocol(connected& to) {
    relay_both_ways(client_.next_layer(), text_of(buffer_), to.connection.next_layer(), text_of(to.buffer),
                    allowed_.idle_time);
    client_.next_layer().close();
    return false;
}

void exchange::refuse(const error_code& why) const {
    if (why == boost::asio::error::timed_out) {
        throw refusal{http::status::gateway_timeout, "no back end has answered in time"};
    }
    throw refusal{http::status::bad_gateway, "no back end has sent a valid response"};
}

}  // namespace reverse_proxy
