#include "broker.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <random>
#include <utility>

#include <weft/time.h>

#include "terminal.h"

namespace cluster_wordcount {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// Codes of JetStream. The other ones, such as those for a store that is full, may pass.
constexpr int stream_not_found = 10059;
constexpr int consumer_not_found = 10014;
constexpr int stream_differs = 10058;
constexpr int subjects_overlap = 10065;
constexpr int filter_does_not_fit = 10093;

constexpr auto pause = 50ms;         // between two attempts
constexpr auto first_patience = 2s;  // with a server that has just started
constexpr auto ids_kept = 1h;

nats::client connected(const broker_options& how) {
    try {
        return nats::client({.servers = {how.server},
                             .name = how.owner,
                             .connect_time = 2s,
                             .reconnect_wait = 100ms,
                             .request_time = 2s});
    } catch (const std::system_error& e) {
        throw broker_error("no NATS server answers at " + how.server + " (" + e.code().message() +
                           "); start one with nats-server -js, or name it with --server");
    }
}

bool may_pass(const std::system_error& e) {
    return e.code() == nats::errc::connection_lost || e.code() == nats::errc::request_timed_out ||
           e.code() == nats::errc::no_responders || e.code() == nats::errc::buffer_full;
}

bool is_gone(const nats::jetstream_error& e) {
    return e.error_code() == stream_not_found || e.error_code() == consumer_not_found;
}

bool is_foreign(const nats::jetstream_error& e) {
    return e.error_code() == stream_differs || e.error_code() == subjects_overlap ||
           e.error_code() == filter_does_not_fit;
}

// Returns why the call has failed, if that may pass; empty: it has not. Throws other failures.
std::string failure_of(const std::function<void()>& call) {
    try {
        call();
        return {};
    } catch (const nats::jetstream_error& e) {
        if (is_gone(e) || is_foreign(e)) throw;
        return e.what();
    } catch (const std::system_error& e) {
        if (!may_pass(e)) throw;
        return e.code().message();
    }
}

std::string random_name() {
    constexpr std::string_view digits = "0123456789abcdef";
    std::random_device random;
    std::string name = "coordinator_";
    for (int i = 0; i < 16; ++i) name += digits[random() % digits.size()];
    return name;
}

}  // namespace

broker::broker(broker_options how) : how_(std::move(how)), client_(connected(how_)), jetstream_(client_) {}

std::string broker::subject(std::string_view of) const {
    return how_.stream + "." + std::string(format_version) + "." + std::string(of);
}

// ---- Streams.

void broker::make_streams() {
    first_call([this] {
        jetstream_.add_stream({.name = result_stream(), .subjects = {subject("result")}, .duplicate_window = ids_kept});
        jetstream_.add_stream({.name = chunk_stream(),
                               .subjects = {subject("chunk")},
                               .keeps = nats::retention::work_queue,
                               .duplicate_window = ids_kept});
    });
    if (!join_streams()) throw streams_gone("the streams were removed when they had just been made");
}

bool broker::join_streams() {
    try {
        first_call([this] {
            // The number of deliveries is limited by the workers (worker.h).
            jetstream_.add_consumer(
                chunk_stream(),
                {.name = "workers", .filter = subject("chunk"), .ack_wait = how_.ack_wait, .ack_pending_max = 10'000});
        });
        return true;
    } catch (const streams_gone&) {
        return false;
    }
}

void broker::remove_streams() {
    for (const std::string& stream : {chunk_stream(), result_stream()}) {
        try {
            insist([&] { jetstream_.remove_stream(stream); });
        } catch (const nats::jetstream_error& e) {
            if (!is_gone(e)) throw broker_error(e.what());
        }
    }
}

// A broker may lack JetStream: then it says at once that no service answers. So may one that has
// just started, for a moment.
void broker::first_call(const std::function<void()>& call) {
    const auto begin = steady_clock::now();
    try {
        insist([&] {
            try {
                call();
            } catch (const std::system_error& e) {
                if (e.code() != nats::errc::no_responders || steady_clock::now() - begin < first_patience) throw;
                throw broker_error("the broker at " + how_.server +
                                   " answers no call of JetStream; does it run with JetStream (nats-server -js)?");
            }
        });
    } catch (const nats::jetstream_error& e) {
        refuse(e);
    }
}

void broker::refuse(const nats::jetstream_error& e) {
    if (is_gone(e)) {
        throw streams_gone("the streams of \"" + how_.stream +
                           "\" were removed: another coordinator has ended, or the broker has lost its store");
    }
    if (is_foreign(e)) {
        throw broker_error("the streams of \"" + how_.stream + "\" on " + how_.server +
                           " are of another version of this program (this one has " + std::string(format_version) +
                           ") or of another program: name others with --stream, or run the same version everywhere");
    }
    throw broker_error(e.what());
}

// ---- Messages.

void broker::send_chunk(const std::string& message, const std::string& id) {
    store("chunk", chunk_stream(), message, id);
}

void broker::send_result(const std::string& message, const std::string& id) {
    store("result", result_stream(), message, id);
}

void broker::store(std::string_view of, const std::string& stream, const std::string& message, const std::string& id) {
    try {
        insist([&] {
            try {
                jetstream_.publish(subject(of), message, {.id = id});
            } catch (const std::system_error& e) {
                if (e.code() == nats::errc::no_responders) static_cast<void>(jetstream_.messages(stream));
                throw;  // there is such a stream
            }
        });
    } catch (const nats::jetstream_error& e) {
        refuse(e);
    }
}

void broker::check() {
    try {
        insist([this] { static_cast<void>(jetstream_.messages(chunk_stream())); });
    } catch (const nats::jetstream_error& e) {
        refuse(e);
    }
}

nats::pull_consumer broker::chunks(std::size_t batch) { return jetstream_.pull(chunk_stream(), "workers", batch); }

nats::pull_consumer broker::all_results() {
    const std::string name = random_name();
    first_call([&] { jetstream_.add_consumer(result_stream(), {.name = name, .ack_wait = how_.ack_wait}); });
    return jetstream_.pull(result_stream(), name);
}

bool broker::say_alive() {
    if (!client_.is_connected()) return false;
    client_.publish(subject("alive"), how_.owner);
    return true;
}

nats::subscription broker::alive_workers() { return client_.subscribe(subject("alive")); }

// ---- Patience.

// Repeats call until the broker has done it.
void broker::insist(const std::function<void()>& call) {
    const auto until = steady_clock::now() + how_.patience;
    for (;;) {
        const std::string why = failure_of(call);
        note_trouble(why);
        if (why.empty()) return;
        if (steady_clock::now() >= until) {
            throw broker_error("the broker at " + how_.server + " has failed for " +
                               std::to_string(how_.patience.count() / 1000) + " s: " + why +
                               " (see its log; is its disk full?)");
        }
        weft::sleep_for(pause);
    }
}

// Tells the user when the broker begins to fail, and when it works again.
void broker::note_trouble(const std::string& why) {
    const std::lock_guard<weft::mutex> locked(lock_);
    if (why.empty() == trouble_.empty()) return;
    trouble_ = why;
    complain(how_.owner + (why.empty() ? ": the broker works again" : ": waiting for the broker: " + why));
}

}  // namespace cluster_wordcount
