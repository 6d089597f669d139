// broker.h: the streams on the NATS server, and calls that outlast its failures.
//
// Two streams: NAME_chunks, a work queue, whose messages go away when a worker has acknowledged
// them; and NAME_results, which keeps all results until the count has ended, so that a coordinator
// that was killed can be started again. The results are made first and removed last: while there
// are chunks, a result always has a place.
//
// Calls are repeated while the broker is away, for `patience`. A call whose answer was lost may
// have been done. So all calls can be repeated: messages have ids, and the broker stores one
// message of an id within the hour. What it stores twice nevertheless is merged once (results.h).
//
// Threads: any, any number at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/mutex.h>
#include <weft/nats/client.h>
#include <weft/nats/jetstream.h>

#include "wire.h"

namespace cluster_wordcount {

namespace nats = weft::nats;

struct broker_options {
    std::string server = "nats://127.0.0.1:4222";
    std::string stream = "wordcount";  // the first part of the names of the streams
    std::string owner = {};            // of this program, for messages
    std::chrono::milliseconds ack_wait = std::chrono::seconds(10);
    std::chrono::milliseconds patience = std::chrono::seconds(60);
};

// The broker cannot do what the program needs. The message says what to do.
class broker_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The streams are not there any longer.
class streams_gone : public broker_error {
public:
    using broker_error::broker_error;
};

class broker {
public:
    // Connects. Throws broker_error.
    explicit broker(broker_options how);

    [[nodiscard]] const broker_options& options() const noexcept { return how_; }

    // Makes the streams, unless they are there. Throws broker_error, also if they are of another
    // version of this program.
    void make_streams();

    // Whether there are streams; for workers, which do not make any. Throws as make_streams().
    [[nodiscard]] bool join_streams();

    // Removes them, if they are there. Throws broker_error.
    void remove_streams();

    // Stores a message. Throws broker_error, streams_gone.
    void send_chunk(const std::string& message, const std::string& id);
    void send_result(const std::string& message, const std::string& id);

    // Whether it is there, with the streams. Throws broker_error, streams_gone.
    void check();

    [[nodiscard]] nats::pull_consumer chunks(std::size_t batch);

    // All results, from the first one on.
    [[nodiscard]] nats::pull_consumer all_results();

    // Workers say that they are alive. These messages may be lost: nothing depends on them. Returns
    // false while there is no connection.
    bool say_alive();
    [[nodiscard]] nats::subscription alive_workers();

private:
    [[nodiscard]] std::string subject(std::string_view of) const;

    [[nodiscard]] std::string chunk_stream() const { return how_.stream + "_chunks"; }

    [[nodiscard]] std::string result_stream() const { return how_.stream + "_results"; }

    void store(std::string_view of, const std::string& stream, const std::string& message, const std::string& id);

    void insist(const std::function<void()>& call);
    void first_call(const std::function<void()>& call);
    [[noreturn]] void refuse(const nats::jetstream_error& e);
    void note_trouble(const std::string& why);

    const broker_options how_;
    nats::client client_;
    nats::jetstream jetstream_;
    weft::mutex lock_;
    std::string trouble_;  // guarded by lock_; why the last call has failed
};

}  // namespace cluster_wordcount
