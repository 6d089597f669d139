// 49_websocket.cc: a WebSocket server: what one page sends, all pages get.
//
// needs: weft::http
//
//   49_websocket [ADDRESS]      prints its address, and serves until SIGINT or SIGTERM
#include <chrono>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include <weft/http/server.h>
#include <weft/http/websocket.h>
#include <weft/net/tcp.h>
#include <weft/signals.h>
#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;
namespace http = weft::http;

// All pages. A message waits in the queue of each; a page whose queue is full misses it.
class room {
public:
    using queue = weft::chan<std::string>;

    void say(const std::string& what) {
        const std::lock_guard<weft::mutex> locked(lock_);
        for (const queue* const q : queues_) static_cast<void>(q->try_send(what));
    }

    void add(const queue& q) {
        const std::lock_guard<weft::mutex> locked(lock_);
        queues_.insert(&q);
    }

    void remove(const queue& q) {
        const std::lock_guard<weft::mutex> locked(lock_);
        queues_.erase(&q);
    }

    // A page, for the time of the block.
    class page {
    public:
        page(room& in, const queue& q) : in_(in), queue_(q) { in_.add(queue_); }

        ~page() { in_.remove(queue_); }

        page(const page&) = delete;
        page& operator=(const page&) = delete;

    private:
        room& in_;
        const queue& queue_;
    };

private:
    weft::mutex lock_;
    std::set<const queue*> queues_;  // guarded by lock_
};

// One green thread reads, and another one writes what is in the queue. If one of them throws, the
// scope ends the other.
void talk(room& all, http::response& w) {
    auto socket = w.upgrade_websocket({.message_max = 4096});
    const room::queue mine(64);
    weft::scope([&](weft::task_scope& both) {
        both.go([&] {
            while (const auto what = mine.recv()) socket.write(*what);
        });
        {
            const room::page here(all, mine);
            while (const auto message = socket.read()) all.say(message->data);
        }
        mine.close();
    });
}

constexpr const char* page = R"(<!DOCTYPE html><title>room</title><input id=in autofocus><pre id=out></pre><script>
const socket = new WebSocket(`ws://${location.host}/room`)
socket.onmessage = message => { out.textContent += message.data + "\n" }
document.getElementById("in").onchange = e => { socket.send(e.target.value); e.target.value = "" }
</script>)";

}  // namespace

int main(int argc, char** argv) {
    const std::string address = argc > 1 ? argv[1] : "127.0.0.1:0";
    return weft::main([&] {
        room all;
        http::server server;
        server.handle("GET /{$}", [](http::request&, http::response& w) { w.send(page, "text/html; charset=utf-8"); });
        server.handle("GET /room", [&](http::request&, http::response& w) { talk(all, w); });

        weft::signals::subscription end = weft::signals::notify({SIGINT, SIGTERM});
        weft::net::tcp_listener listener(address);
        std::printf("http://%s/\n", listener.local_endpoint().to_string().c_str());
        std::fflush(stdout);
        weft::wait_group serving;
        serving.go([&] { server.serve(listener); });
        static_cast<void>(end.recv());
        const std::size_t cut_off = server.shutdown(10s);  // all pages get a close frame
        serving.wait();
        return cut_off == 0 ? 0 : 1;
    });
}
