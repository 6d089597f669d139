#include "listening.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/time.h>

namespace postgres_client {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_pause = 50ms;
constexpr std::chrono::milliseconds longest_pause = 5s;

class listener {
public:
    listener(const server& at, const std::vector<std::string>& channels, const weft::send_chan<event>& to)
        : at_(at), to_(to), connection_(at) {
        for (const std::string& channel : channels) ask({"LISTEN " + connection_.quoted(channel)});
        to_.send({event::kind::listening, {}, {}});
    }

    // Runs until the connection breaks.
    [[noreturn]] void run() {
        for (;;) {
            if (std::optional<notification> n = connection_.receive_until(steady_clock::now() + at_.silence)) {
                to_.send({event::kind::notification, std::move(n->channel), std::move(n->text)});
            } else {
                ask({"SELECT 1"});  // detects a server that has vanished without closing the connection
            }
        }
    }

private:
    void ask(const statement& s) {
        try {
            weft::with_timeout(at_.silence, [&] { connection_.query(s); });
        } catch (const weft::timed_out&) {
            weft::throw_if_cancelled();  // the deadline may be that of a caller
            throw connection_error("the server no longer answers");
        } catch (const statement_error& e) {
            throw connection_error(e.what());
        }
    }

    const server& at_;
    const weft::send_chan<event>& to_;
    connection connection_;
};

}  // namespace

void listen(const server& at, const std::vector<std::string>& channels, const weft::send_chan<event>& to) {
    std::chrono::milliseconds pause = first_pause;
    for (;;) {
        try {
            try {
                listener l(at, channels, to);
                pause = first_pause;
                l.run();
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

}  // namespace postgres_client
