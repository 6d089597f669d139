// tokio.cc: original/mini_redis.rs, ported from tokio. A small server in the manner of Redis:
// SET key value, GET key, DEL key. A client that is silent for too long is disconnected; when the
// server stops, all are.
// See: docs/coming_from/tokio.md
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/io.h>
#include <weft/net/tcp.h>
#include <weft/weft.h>

using namespace std::chrono_literals;
using weft::net::tcp_listener;
using weft::net::tcp_stream;

namespace {

constexpr std::ptrdiff_t most_clients = 100;

struct request {
    std::string line;
    weft::promise<std::string> answer;
};

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream text(line);
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    return words;
}

// Owns the values.
void store(const weft::recv_chan<request>& inbox) {
    std::map<std::string, std::string> values;
    for (auto&& r : inbox) {
        const std::vector<std::string> words = words_of(r.line);
        std::string answer = "ERR unknown command";
        if (words.size() == 3 && words[0] == "SET") {
            values[words[1]] = words[2];
            answer = "OK";
        } else if (words.size() == 2 && words[0] == "GET") {
            const auto at = values.find(words[1]);
            answer = at == values.end() ? "(nil)" : at->second;
        } else if (words.size() == 2 && words[0] == "DEL") {
            answer = std::to_string(values.erase(words[1]));
        }
        r.answer.set_value(std::move(answer));
    }
}

void serve(tcp_stream& socket, const weft::send_chan<request>& store, std::chrono::milliseconds idle) {
    weft::io::buffered_reader in(socket);
    try {
        while (const auto line = weft::with_timeout(idle, [&] { return in.read_line(); })) {
            weft::promise<std::string> answer;
            weft::future<std::string> result = answer.get_future();
            store.send({std::string(*line), std::move(answer)});
            socket.write_all(result.get() + "\n");
        }
    } catch (const weft::timed_out&) {
        socket.write_all("ERR idle for too long\n");
    } catch (const weft::cancelled&) {
        weft::shield([&] { socket.write_all("ERR the server stops\n"); });
        throw;
    }
}

class server {
public:
    explicit server(std::chrono::milliseconds idle) : running_(weft::async([this, idle] { run(idle); })) {}

    server(const server&) = delete;
    server& operator=(const server&) = delete;

    ~server() {
        if (running_.valid()) stop();
    }

    // Disconnects the clients, and returns when all has ended.
    void stop() {
        running_.cancel();
        try {
            running_.get();
        } catch (const weft::cancelled&) {
            // As asked for.
        }
    }

    [[nodiscard]] weft::net::endpoint address() const { return listener_.local_endpoint(); }

private:
    void run(std::chrono::milliseconds idle) {
        const weft::chan<request> to_store(16);
        weft::wait_group storing;
        storing.go({.name = "store"}, [=] { store(to_store); });

        const struct at_end {
            const weft::chan<request>& to_store;
            weft::wait_group& storing;

            ~at_end() {
                to_store.close();
                storing.wait();
            }
        } end{to_store, storing};

        weft::counting_semaphore<> places(most_clients);
        weft::scope([&](weft::task_scope& clients) {
            for (;;) {
                places.acquire();
                clients.go({.name = "client"}, [&, socket = listener_.accept()]() mutable {
                    try {
                        serve(socket, to_store, idle);
                    } catch (const std::system_error&) {
                        // The client has gone.
                    }
                    places.release();
                });
            }
        });
    }

    tcp_listener listener_{weft::net::endpoint::loopback(0)};
    weft::future<void> running_;
};

// For the demonstration.
class client {
public:
    explicit client(const weft::net::endpoint& at) : socket_(tcp_stream::connect(at)) {}

    std::string ask(const std::string& command) {
        if (!command.empty()) socket_.write_all(command + "\n");
        return std::string(in_.read_line().value_or("(the end)"));
    }

private:
    tcp_stream socket_;
    weft::io::buffered_reader<tcp_stream> in_{socket_};
};

}  // namespace

int main() {
    return weft::main([] {
        {
            server s(10s);
            client anna(s.address());
            client ben(s.address());
            std::printf("anna: %s\n", anna.ask("SET drink tea").c_str());
            std::printf("ben:  %s\n", ben.ask("GET drink").c_str());
            std::printf("ben:  %s\n", ben.ask("DEL drink").c_str());
            std::printf("anna: %s\n", anna.ask("GET drink").c_str());
            std::printf("anna: %s\n", anna.ask("PUSH drink").c_str());
            s.stop();
            std::printf("anna: %s\n", anna.ask("").c_str());
            std::printf("ben:  %s\n", ben.ask("").c_str());
        }
        const server hasty(20ms);
        client silent(hasty.address());
        std::printf("carol: %s\n", silent.ask("").c_str());
    });
}
