// pull_consumer.cc: see weft/nats/jetstream.h.
//
// A request asks for `batch` messages, which come to the inbox of this object, and expires after
// request_time. The server sends an empty message with a status when it expires or cannot be
// served, and a heartbeat while nothing comes. Silence for longer means that the request is lost,
// with its connection or its server: it is made again once the server has answered another request.
// So a server that is stopped does not find many requests when it continues, which would bring more
// messages than there is room for. What an earlier request still brings is taken as well.
#include <array>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <weft/error.h>
#include <weft/nats/jetstream.h>
#include <weft/time.h>

#include "nats/answer.h"
#include "nats/connection.h"

namespace weft::nats {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::chrono::nanoseconds request_expiry = 10s;
constexpr std::chrono::nanoseconds heartbeat = 500ms;
constexpr std::chrono::nanoseconds silence_max = 3 * heartbeat;
constexpr std::chrono::milliseconds pause_after_refusal = 50ms;

// The status of a message that the server sends of itself.
enum : int {
    status_heartbeat = 100,
    status_not_found = 404,
    status_expired = 408,
    status_conflict = 409,
    status_no_responders = 503
};

}  // namespace

// "$JS.ACK.STREAM.CONSUMER.DELIVERIES.SEQUENCE.…", or with a domain and an account after ACK.
delivery::delivery(message m) : message_(std::move(m)) {
    std::vector<std::string_view> parts;
    for (std::string_view rest = message_.reply; !rest.empty();) {
        const std::size_t dot = rest.find('.');
        parts.push_back(rest.substr(0, dot));
        rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    }
    const std::size_t first = parts.size() > 9 ? 6 : 4;
    if (parts.size() < first + 2) return;
    std::from_chars(parts[first].data(), parts[first].data() + parts[first].size(), deliveries_);
    std::from_chars(parts[first + 1].data(), parts[first + 1].data() + parts[first + 1].size(), sequence_);
}

pull_consumer::pull_consumer(client of, const std::string& stream, const std::string& name, std::size_t batch)
    : client_(std::move(of)), name_(stream + "." + name), batch_(batch) {
    // Room for what two requests bring: one that is lost may not be.
    from_ = client_.connection_->subscribe(client_.connection_->unique_subject() + ".*", {}, 2 * batch + 16);
}

delivery pull_consumer::next() {
    while (ready_.empty()) {
        if (asked_ == 0) ask();
        recv_result<message> r = from_->messages().recv_until(heard_at_ + silence_max);
        if (r.value) {
            heard_at_ = steady_clock::now();
            take(std::move(*r.value));
        } else if (check_exists() || steady_clock::now() >= asked_at_ + request_expiry) {
            asked_ = 0;  // the request is lost, or has expired (its user may not ask for the consumer)
        } else {
            weft::sleep_for(pause_after_refusal);
        }
    }
    delivery d = std::move(ready_.front());
    ready_.pop_front();
    return d;
}

void pull_consumer::ask() {
    const std::string inbox = from_->subject().substr(0, from_->subject().size() - 1) + std::to_string(++request_);
    try {
        client_.publish({.subject = "$JS.API.CONSUMER.MSG.NEXT." + name_,
                         .reply = inbox,
                         .data = "{\"batch\":" + std::to_string(batch_) +
                                 ",\"expires\":" + std::to_string(request_expiry.count()) +
                                 ",\"idle_heartbeat\":" + std::to_string(heartbeat.count()) + "}"});
    } catch (const std::system_error& e) {
        if (e.code() != errc::buffer_full) throw;  // no connection: the next attempt comes after the silence
    }
    asked_ = batch_;
    asked_at_ = heard_at_ = steady_clock::now();
}

void pull_consumer::take(message m) {
    const int status = detail::status_of(m);
    // A message of the stream may have a header of that name; only it has where to acknowledge.
    if ((status == 0 && !m.reply.empty()) || m.reply.starts_with("$JS.ACK.")) {
        if (asked_ != 0) --asked_;
        ready_.emplace_back(std::move(m));
        return;
    }
    if (!m.subject.ends_with('.' + std::to_string(request_))) return;  // of an earlier request
    switch (status) {
        case status_heartbeat:
            return;
        case status_expired:
        case status_not_found:
            asked_ = 0;
            return;
        case status_conflict:
            if (m.header("Description").find("Deleted") != std::string_view::npos)
                throw jetstream_error(status_not_found, 10014, "the consumer was deleted: " + name_);
            break;
        case status_no_responders:  // there is no such consumer, or JetStream has not started yet
            static_cast<void>(check_exists());
            break;
        default:
            break;
    }
    weft::sleep_for(pause_after_refusal);
    asked_ = 0;
}

// Throws jetstream_error if the server knows that there is no such consumer. Returns whether it has
// answered.
bool pull_consumer::check_exists() {
    try {
        detail::check_answer(client_.request("$JS.API.CONSUMER.INFO." + name_, "").data);
        return true;
    } catch (const std::system_error&) {
        return false;
    }
}

// ---- Acknowledgements.

const std::string& pull_consumer::ack_subject(const delivery& d) {
    if (d.message_.reply.empty()) throw std::invalid_argument("weft: nats::pull_consumer: not a message of a consumer");
    return d.message_.reply;
}

void pull_consumer::ack(const delivery& d) { static_cast<void>(client_.request(ack_subject(d), "+ACK")); }

void pull_consumer::ack_no_wait(const delivery& d) { client_.publish(ack_subject(d), "+ACK"); }

void pull_consumer::nak(const delivery& d, std::chrono::nanoseconds delay) {
    client_.publish(ack_subject(d),
                    delay.count() > 0 ? "-NAK {\"delay\":" + std::to_string(delay.count()) + "}" : "-NAK");
}

void pull_consumer::term(const delivery& d) { client_.publish(ack_subject(d), "+TERM"); }

void pull_consumer::in_progress(const delivery& d) { client_.publish(ack_subject(d), "+WPI"); }

}  // namespace weft::nats
