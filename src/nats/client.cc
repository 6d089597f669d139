// client.cc: see weft/nats/client.h.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include <weft/nats/client.h>

#include "nats/connection.h"

namespace weft::nats {

std::string_view message::header(std::string_view name) const noexcept {
    const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& h) { return h.first == name; });
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

// ---- client.

client::client(client_options how) : connection_(detail::connection::open(std::move(how))) {}

void client::publish(std::string_view subject, std::string_view data) {
    publish(message{.subject = std::string(subject), .data = std::string(data)});
}

void client::publish(const message& m) { connection_->send(m); }

message client::request(std::string_view subject, std::string_view data) {
    return request(message{.subject = std::string(subject), .data = std::string(data)});
}

message client::request(const message& m) { return connection_->request(m); }

void client::respond(const message& m, std::string_view data) {
    if (m.reply.empty())
        throw std::invalid_argument("weft: nats::client::respond: the message expects no answer: " + m.subject);
    publish(m.reply, data);
}

void client::flush() { connection_->flush(); }

subscription client::subscribe(std::string_view subject, const subscribe_options& how) {
    if (how.capacity == 0) throw std::invalid_argument("weft: nats::subscribe_options::capacity must be more than 0");
    return subscription(connection_->subscribe(std::string(subject), how.queue, how.capacity));
}

const recv_chan<connection_event>& client::events() const noexcept { return connection_->events(); }

bool client::is_connected() const noexcept { return connection_->is_connected(); }

const client_options& client::options() const noexcept { return connection_->how(); }

// ---- subscription.

subscription::subscription(std::shared_ptr<detail::inbox> from) noexcept : from_(std::move(from)) {}

subscription::subscription(subscription&&) noexcept = default;

subscription& subscription::operator=(subscription&& other) noexcept {
    close();
    from_ = std::move(other.from_);
    return *this;
}

subscription::~subscription() { close(); }

const recv_chan<message>& subscription::messages() const noexcept { return from_->messages(); }

uint64_t subscription::dropped() const noexcept { return from_->dropped(); }

void subscription::close() noexcept {
    if (from_) from_->close();
}

}  // namespace weft::nats
