#include "worker.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include <weft/chan.h>
#include <weft/scope.h>
#include <weft/time.h>

#include "../wordcount/text_counter.h"
#include "terminal.h"
#include "wire.h"

namespace cluster_wordcount {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto alive_every = 250ms;
constexpr auto look_for_streams_every = 20ms;

class working {
public:
    working(broker& with, const worker_options& how)
        : broker_(with), how_(how), chunks_(with.chunks(2 * how.threads)) {}

    // Takes chunks until the streams are removed.
    void take() {
        try {
            for (;;) taken_.send(chunks_.next());
        } catch (const nats::jetstream_error&) {
            taken_.close();  // the consumer has gone, with its stream
        }
    }

    void count_all() {
        while (std::optional<nats::delivery> d = taken_.recv()) handle(*d);
    }

    [[nodiscard]] worker_report report() const noexcept { return {counted_, delivered_again_, given_up_}; }

private:
    void handle(const nats::delivery& d) {
        chunk_result r;
        r.worker = broker_.options().owner;
        try {
            r.of = read_chunk(d.data());
        } catch (const malformed& e) {
            complain(r.worker + ": message " + std::to_string(d.sequence()) +
                     " of the stream is no chunk, and is removed: " + e.what());
            return chunks_.term(d);
        }
        r.deliveries = d.deliveries();
        if (d.deliveries() > how_.deliveries_max) {
            r.failure = "it was delivered " + std::to_string(how_.deliveries_max) + " times, and never counted";
            ++given_up_;
        } else {
            count(d.data(), r);
            if (how_.pause > 0ms) weft::sleep_for(how_.pause);
            ++counted_;
            if (d.deliveries() > 1) ++delivered_again_;
        }
        broker_.send_result(to_message(r), id_of(d, r));
        try {
            chunks_.ack(d);
        } catch (const std::system_error&) {
            return;  // it is delivered again, and counted again
        }
    }

    void count(std::string_view message, chunk_result& r) const {
        wordcount::text_counter counter(1);
        read_chunk(message, [&](std::string_view piece) {
            if (!how_.crash_on.empty() && piece.find(how_.crash_on) != std::string_view::npos) std::raise(SIGKILL);
            counter.feed(piece);
            counter.end_file();
        });
        r.totals = counter.totals();
        r.words = std::move(counter.tables().front());
    }

    // The broker stores one result for each chunk that was sent, and one report of a failure. A
    // chunk that is sent again has another id, because the broker may have lost its first result.
    static std::string id_of(const nats::delivery& d, const chunk_result& r) {
        return std::string(d.whole().header("Nats-Msg-Id")) + (r.failure.empty() ? "" : "-failed");
    }

    broker& broker_;
    const worker_options& how_;
    nats::pull_consumer chunks_;
    const weft::chan<nats::delivery> taken_;
    std::atomic<std::uint64_t> counted_{0};
    std::atomic<std::uint64_t> delivered_again_{0};
    std::atomic<std::uint64_t> given_up_{0};
};

void say_alive(broker& with) {
    auto heard = steady_clock::now();
    for (;; weft::sleep_for(alive_every)) {
        if (with.say_alive()) heard = steady_clock::now();
        if (steady_clock::now() - heard > with.options().patience) {
            throw broker_error("there was no connection to " + with.options().server + " for " +
                               std::to_string(with.options().patience.count() / 1000) + " s");
        }
    }
}

}  // namespace

worker_report work(broker& with, const worker_options& how) {
    worker_report report;
    weft::scope([&](weft::task_scope& alive) {
        alive.go([&] { say_alive(with); });
        while (!with.join_streams()) weft::sleep_for(look_for_streams_every);
        working w(with, how);
        try {
            weft::scope([&](weft::task_scope& s) {
                for (std::size_t i = 0; i < how.threads; ++i) s.go([&] { w.count_all(); });
                w.take();
            });
        } catch (const streams_gone&) {
            // The same end as that of take(): noticed by one that stores a result.
        }
        report = w.report();
        alive.cancel();
    });
    return report;
}

}  // namespace cluster_wordcount
