// 55_nats.cc: a NATS client: messages, requests, and a queue of jobs in JetStream.
//
// needs: weft::nats nats::server
//
// It asks a server of its own.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <weft/nats/client.h>
#include <weft/nats/jetstream.h>
#include <weft/net/tcp.h>
#include <weft/process.h>
#include <weft/weft.h>

namespace {

using namespace std::chrono_literals;
namespace nats = weft::nats;

void messages(nats::client& c) {
    const nats::subscription news = c.subscribe("news.*");
    c.publish("news.rain", "it rains");
    const std::optional<nats::message> m = news.next();
    std::printf("%s: %s\n", m->subject.c_str(), m->data.c_str());
}

// A service: one green thread for each request.
void requests(nats::client& c) {
    nats::subscription asked = c.subscribe("double", {.queue = "doublers"});
    weft::wait_group serving;
    serving.go([&] {
        while (std::optional<nats::message> m = asked.next()) {
            serving.go([&c, m = std::move(*m)] { c.respond(m, m.data + m.data); });
        }
    });
    std::printf("answer: %s\n", c.request("double", "go").data.c_str());
    asked.close();
    serving.wait();
    try {
        static_cast<void>(c.request("nothing", ""));
    } catch (const std::system_error& e) {
        std::printf("%s\n", e.code().message().c_str());
    }
}

// The first worker fails with the job in its hands; the second one gets it.
void jobs(nats::client& c) {
    nats::jetstream js(c);
    js.add_stream({.name = "JOBS", .subjects = {"jobs.*"}, .keeps = nats::retention::work_queue});
    js.add_consumer("JOBS", {.name = "workers", .ack_wait = 100ms});
    js.publish("jobs.mail", "send the letters", {.id = "letter-7"});
    std::printf("the same again: %s\n",
                js.publish("jobs.mail", "send the letters", {.id = "letter-7"}).duplicate ? "not stored" : "stored");
    {
        nats::pull_consumer first = js.pull("JOBS", "workers");
        static_cast<void>(first.next());
    }
    nats::pull_consumer second = js.pull("JOBS", "workers");
    const nats::delivery job = second.next();
    std::printf("job: %s, delivery %d\n", job.data().c_str(), static_cast<int>(job.deliveries()));
    second.ack(job);
    std::printf("left: %d\n", static_cast<int>(js.messages("JOBS")));
}

// A port that was free a moment ago.
std::string free_port() { return std::to_string(weft::net::tcp_listener("127.0.0.1:0").local_endpoint().port()); }

nats::client connected(const std::string& url) {
    for (;;) {
        try {
            return nats::client({.servers = {url}});
        } catch (const std::system_error&) {
            weft::sleep_for(10ms);
        }
    }
}

}  // namespace

int main() {
    return weft::main([] {
        const std::string folder = std::filesystem::temp_directory_path() / ("weft_nats_" + std::to_string(getpid()));
        const std::string port = free_port();
        weft::process server({"nats-server", "-a", "127.0.0.1", "-p", port, "-js", "-sd", folder},
                             {.err = weft::stdio::null});
        {
            nats::client c = connected("nats://127.0.0.1:" + port);
            messages(c);
            requests(c);
            jobs(c);
        }
        server.kill(SIGTERM);
        server.wait();
        std::filesystem::remove_all(folder);
        return 0;
    });
}
