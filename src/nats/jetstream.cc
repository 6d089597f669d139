// jetstream.cc: see weft/nats/jetstream.h.
#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <weft/nats/jetstream.h>

#include "nats/answer.h"
#include "nats/connection.h"
#include "nats/json.h"

namespace weft::nats {

namespace {

using detail::json_quoted;

const char* text_of(retention r) noexcept {
    switch (r) {
        case retention::limits:
            return "limits";
        case retention::work_queue:
            return "workqueue";
        case retention::interest:
            return "interest";
    }
    return "limits";
}

std::string number(int64_t n) { return std::to_string(n); }

// A name is a part of a subject.
void check_name(std::string_view name, const char* of) {
    if (!name.empty() && name.find_first_of(std::string_view(" .*>\t\r\n/\\\0", 10)) == std::string_view::npos) return;
    throw std::invalid_argument(std::string("weft: the name of a JetStream ") + of + " is \"" + std::string(name) +
                                "\": write letters, digits, - and _");
}

std::string json_of(const stream_options& s) {
    std::string subjects;
    for (const std::string& subject : s.subjects) {
        if (!subjects.empty()) subjects += ',';
        subjects += json_quoted(subject);
    }
    std::string json = "{\"name\":" + json_quoted(s.name);
    if (!subjects.empty()) json += ",\"subjects\":[" + subjects + "]";
    json += std::string(",\"retention\":\"") + text_of(s.keeps) + "\",\"storage\":\"" +
            (s.in_memory ? "memory" : "file") + '"';
    json += ",\"discard\":\"old\",\"max_consumers\":-1,\"max_msg_size\":-1,\"max_msgs\":" + number(s.messages_max);
    json += ",\"max_bytes\":" + number(s.bytes_max) + ",\"max_age\":" + number(s.age_max.count());
    json +=
        ",\"duplicate_window\":" + number(s.duplicate_window.count()) + ",\"num_replicas\":" + number(s.replicas) + "}";
    return json;
}

std::string json_of(std::string_view stream, const consumer_options& c) {
    std::string json =
        "{\"stream_name\":" + json_quoted(stream) + ",\"config\":{\"durable_name\":" + json_quoted(c.name);
    json += ",\"ack_policy\":\"explicit\",\"replay_policy\":\"instant\",\"deliver_policy\":\"";
    json += c.only_new ? "new\"" : "all\"";
    if (!c.filter.empty()) json += ",\"filter_subject\":" + json_quoted(c.filter);
    json += ",\"ack_wait\":" + number(c.ack_wait.count()) + ",\"max_deliver\":" + number(c.deliveries_max);
    json += ",\"max_ack_pending\":" + number(c.ack_pending_max) + "}}";
    return json;
}

}  // namespace

std::string jetstream::ask(const std::string& subject, const std::string& json) {
    message answer = client_.request("$JS.API." + subject, json);
    detail::check_answer(answer.data);
    return std::move(answer.data);
}

void jetstream::add_stream(const stream_options& s) {
    check_name(s.name, "stream");
    ask("STREAM.CREATE." + s.name, json_of(s));
}

void jetstream::add_consumer(std::string_view stream, const consumer_options& c) {
    check_name(stream, "stream");
    check_name(c.name, "consumer");
    ask("CONSUMER.DURABLE.CREATE." + std::string(stream) + "." + c.name, json_of(stream, c));
}

void jetstream::remove_stream(std::string_view stream) {
    check_name(stream, "stream");
    ask("STREAM.DELETE." + std::string(stream), "");
}

pull_consumer jetstream::pull(std::string_view stream, std::string_view consumer, std::size_t batch) {
    check_name(stream, "stream");
    check_name(consumer, "consumer");
    if (batch == 0 || batch > pull_consumer::batch_max)
        throw std::invalid_argument("weft: nats::jetstream::pull: batch must be from 1 to 10000");
    return {client_, std::string(stream), std::string(consumer), batch};
}

uint64_t jetstream::messages(std::string_view stream) {
    check_name(stream, "stream");
    const std::string answer = ask("STREAM.INFO." + std::string(stream), "");
    const auto state = detail::json_value(answer, "state");
    if (!state) throw std::system_error(errc::bad_answer, "weft: JetStream: " + answer);
    return static_cast<uint64_t>(detail::json_integer(*state, "messages"));
}

publish_ack jetstream::publish(std::string_view subject, std::string_view data, const publish_options& how) {
    message m{.subject = std::string(subject), .data = std::string(data)};
    if (!how.id.empty()) m.headers.emplace_back("Nats-Msg-Id", how.id);
    const message answer = client_.request(m);
    detail::check_answer(answer.data);
    publish_ack ack{.stream = detail::json_text(answer.data, "stream"),
                    .sequence = static_cast<uint64_t>(detail::json_integer(answer.data, "seq")),
                    .duplicate = detail::json_value(answer.data, "duplicate") == "true"};
    if (ack.stream.empty()) throw std::system_error(errc::bad_answer, "weft: JetStream: " + answer.data);
    return ack;
}

}  // namespace weft::nats
