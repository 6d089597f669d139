// jetstream.h: JetStream: messages that the server stores, and delivers at least once.
//
//     nats::jetstream js(c);
//     js.add_stream({.name = "JOBS", .subjects = {"jobs.*"}});
//     js.add_consumer("JOBS", {.name = "workers"});
//     js.publish("jobs.mail", "send the letters", {.id = "letter-7"});     // stored when it returns
//
//     nats::pull_consumer jobs = js.pull("JOBS", "workers");
//     for (;;) {
//         nats::delivery job = jobs.next();
//         work(job.data());
//         jobs.ack(job);                              // not before the work is done
//     }
//
// A delivery that is not acknowledged within ack_wait is delivered again, to any puller of the
// consumer. So no message is lost if a program, its machine or a connection fails; work must be
// repeatable.
//
// A pull_consumer asks for at most batch messages at a time. So the server never sends more than
// the program has asked for.
//
// Requests are made over the protocol of JetStream itself ($JS.API), because the functions of
// libnats for it block their thread.
//
// See: docs/nats.md
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/detail/require.h>
#include <weft/nats/client.h>

namespace weft::nats {

enum class retention : uint8_t {
    limits,      ///< messages are kept until a limit is reached
    work_queue,  ///< until one consumer has acknowledged them
    interest,    ///< until all consumers have
};

struct stream_options {
    std::string name = {};                   ///< without dots and blanks
    std::vector<std::string> subjects = {};  ///< none: the name
    retention keeps = retention::limits;
    bool in_memory = false;                                               ///< lost when the server ends
    int64_t messages_max = -1;                                            ///< -1: no limit; then the oldest are removed
    int64_t bytes_max = -1;                                               ///< the same
    std::chrono::nanoseconds age_max = std::chrono::nanoseconds(0);       ///< 0: no limit
    std::chrono::nanoseconds duplicate_window = std::chrono::minutes(2);  ///< in which publish_options::id is known
    int replicas = 1;
};

struct consumer_options {
    std::string name = {};                                         ///< durable: the server remembers it
    std::string filter = {};                                       ///< a subject; empty: all of the stream
    std::chrono::nanoseconds ack_wait = std::chrono::seconds(30);  ///< after which a message is delivered again
    int deliveries_max = -1;                                       ///< of one message; -1: no limit
    int ack_pending_max = 1000;                                    ///< messages that are delivered and not acknowledged
    bool only_new = false;                                         ///< begin with the next message, not with the oldest
};

struct publish_options {
    std::string id = {};  ///< the server stores one message with that id within duplicate_window
};

/// The server has stored a message.
struct publish_ack {
    std::string stream = {};
    uint64_t sequence = 0;
    bool duplicate = false;  ///< it had one with that id
};

/// A message of a consumer.
class delivery {
public:
    explicit delivery(message m);

    [[nodiscard]] const std::string& subject() const noexcept { return message_.subject; }

    [[nodiscard]] const std::string& data() const noexcept { return message_.data; }

    [[nodiscard]] const message& whole() const noexcept { return message_; }

    /// Its number in the stream, and how often it was delivered, with this time.
    [[nodiscard]] uint64_t sequence() const noexcept { return sequence_; }

    [[nodiscard]] uint64_t deliveries() const noexcept { return deliveries_; }

private:
    friend class pull_consumer;

    message message_;
    uint64_t sequence_ = 0;
    uint64_t deliveries_ = 0;
};

/// Fetches messages of a consumer. Movable. One green thread calls next() at a time; any may
/// acknowledge.
class pull_consumer {
public:
    pull_consumer(pull_consumer&&) noexcept = default;
    pull_consumer& operator=(pull_consumer&&) noexcept = default;

    /// Returns the next message, and waits until there is one, also while there is no connection.
    /// Throws jetstream_error if the consumer has gone; weft::cancelled, weft::timed_out: no
    /// message is lost then.
    [[nodiscard]] delivery next();

    /// It is done: it is not delivered again. Waits until the server has confirmed that. Throws as
    /// client::request(); the message may then be delivered again.
    void ack(const delivery& d);

    /// The same without waiting. If the acknowledgement is lost, the message is delivered again.
    void ack_no_wait(const delivery& d);

    /// It has failed: deliver it again, after delay.
    void nak(const delivery& d, std::chrono::nanoseconds delay = std::chrono::nanoseconds(0));

    /// Do not deliver it again, although it is not done.
    void term(const delivery& d);

    /// It is still being worked on: ack_wait begins again.
    void in_progress(const delivery& d);

private:
    friend class jetstream;

    static constexpr std::size_t batch_max = 10'000;

    pull_consumer(client of, const std::string& stream, const std::string& name, std::size_t batch);

    void ask();
    void take(message m);
    bool check_exists();
    static const std::string& ack_subject(const delivery& d);

    client client_;
    std::string name_;  // "STREAM.CONSUMER"
    std::size_t batch_;
    std::shared_ptr<detail::inbox> from_;
    std::deque<delivery> ready_;
    std::size_t asked_ = 0;  // messages that the present request may still bring; 0: no request
    uint64_t request_ = 0;   // its number
    std::chrono::steady_clock::time_point heard_at_{};  // when the server last sent something, or was asked
    std::chrono::steady_clock::time_point asked_at_{};
};

/// JetStream of a client's server. A value; any thread.
class jetstream {
public:
    explicit jetstream(client of) noexcept : client_(std::move(of)) {}

    /// Makes a stream. Does nothing if there is one with this configuration. Throws jetstream_error
    /// (10058: there is another one of that name), and as client::request().
    void add_stream(const stream_options& s);

    /// Makes a consumer, or changes the one of that name. Throws as add_stream().
    void add_consumer(std::string_view stream, const consumer_options& c);

    /// Removes a stream with its messages.
    void remove_stream(std::string_view stream);

    /// Publishes a message, and waits until the server has stored it. After request_timed_out and
    /// connection_lost it may have; with an id, the call can be repeated without a second copy.
    /// Throws jetstream_error, and as client::request(); no_responders: no stream has that subject.
    publish_ack publish(std::string_view subject, std::string_view data, const publish_options& how = {});

    /// The number of messages in a stream.
    [[nodiscard]] uint64_t messages(std::string_view stream);

    /// Fetches messages of a consumer, at most batch at a time. Does not wait. Throws
    /// std::invalid_argument if batch is 0 or above 10000, or a name cannot be one.
    [[nodiscard]] pull_consumer pull(std::string_view stream, std::string_view consumer, std::size_t batch = 64);

private:
    std::string ask(const std::string& subject, const std::string& json);

    client client_;
};

}  // namespace weft::nats
