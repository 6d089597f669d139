#include "subscription.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <weft/error.h>
#include <weft/time.h>

namespace redis_client {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_pause = 50ms;
constexpr std::chrono::milliseconds longest_pause = 5s;

class subscriber {
public:
    subscriber(const server& at, const std::vector<std::string>& channels, const weft::send_chan<event>& to)
        : silence_(at.silence), to_(to), connection_(at) {
        command c{"SUBSCRIBE"};
        c.insert(c.end(), channels.begin(), channels.end());
        connection_.append(c);
        for (std::size_t confirmed = 0; confirmed < channels.size();) {
            const reply r = receive();
            if (r.is_error()) throw connection_error("the server has refused the connection: " + std::string(r.text()));
            if (!hand_on(r)) ++confirmed;
        }
        to_.send({event::kind::subscribed, {}, {}});
    }

    // Runs until the connection breaks.
    [[noreturn]] void run() {
        for (;;) hand_on(receive());
    }

private:
    // Returns the next reply. A PING detects a server that has vanished without closing the
    // connection, for example after a power failure.
    reply receive() {
        if (std::optional<reply> r = connection_.receive_until(steady_clock::now() + silence_)) return std::move(*r);
        connection_.append({"PING"});
        if (std::optional<reply> r = connection_.receive_until(steady_clock::now() + silence_)) return std::move(*r);
        throw connection_error("the server no longer answers");
    }

    // Forwards a message, and returns true. Returns false for a reply to SUBSCRIBE or PING.
    bool hand_on(const reply& r) {
        if (r.size() != 3 || r.text(0) != "message") return false;
        to_.send({event::kind::message, std::string(r.text(1)), std::string(r.text(2))});
        return true;
    }

    const std::chrono::milliseconds silence_;
    const weft::send_chan<event>& to_;
    connection connection_;
};

}  // namespace

void subscribe(const server& at, const std::vector<std::string>& channels, const weft::send_chan<event>& to) {
    std::chrono::milliseconds pause = first_pause;
    for (;;) {
        try {
            try {
                subscriber s(at, channels, to);
                pause = first_pause;
                s.run();
            } catch (const connection_error& e) {
                to.send({event::kind::lost, {}, e.what()});
            }
        } catch (const weft::channel_closed&) {
            return;
        }
        weft::sleep_for(pause);
        pause = std::min(pause * 2, longest_pause);
    }
}

}  // namespace redis_client
