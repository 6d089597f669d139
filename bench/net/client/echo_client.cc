// echo_client.cc: loads an echo server and prints the results as one line of JSON. It uses epoll
// itself, and nothing that is measured.
//
//     echo_client --address 127.0.0.1:4711 --server_pid 815 --connections 50 --rate 20000
//     {"requests":20003,"us_per_op":50.0,"cpu_us":7.9,"switches":0.71,"p50_us":31.2, ...}
//
// cpu_us is the server's CPU time per request, system calls included; switches is the number of
// times it slept per request. See options.h.
#include <sys/prctl.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "connection.h"
#include "load.h"
#include "options.h"
#include "server_usage.h"

namespace bench::net {

namespace {

// After one echo per connection, until the server's memory is stable.
constexpr std::chrono::milliseconds settling_time{300};

class json_line {
public:
    void add(const char* name, double value) {
        char text[96];
        std::snprintf(text, sizeof text, "%s\"%s\":%.6g", text_.empty() ? "" : ",", name, value);
        text_ += text;
    }

    void add(const char* name, int64_t value) {
        text_ += (text_.empty() ? "\"" : ",\"") + std::string(name) + "\":" + std::to_string(value);
    }

    void print() const { std::printf("{%s}\n", text_.c_str()); }

private:
    std::string text_;
};

double per(double total, int64_t count) { return count == 0 ? 0 : total / static_cast<double>(count); }

// One request at a time, on one connection after another. Then the server has accepted and served
// each once.
void open_connections(const options& o, std::vector<connection>& into, int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
        connection& c = into.emplace_back(o.address, static_cast<uint64_t>(i), static_cast<std::size_t>(o.payload));
        c.add_request(0);
        bool answered = false;
        while (!answered) {
            static_cast<void>(c.send());
            c.receive([&](int64_t) { answered = true; });
            if (!answered) std::this_thread::yield();
        }
    }
}

// What idle connections cost the server.
void measure_idle(const options& o, std::vector<connection>& idle, json_line& out) {
    std::this_thread::sleep_for(settling_time);
    const server_memory before = read_server_memory(o.server_pid);
    open_connections(o, idle, o.connections, o.idle);
    std::this_thread::sleep_for(settling_time);
    const server_memory after = read_server_memory(o.server_pid);
    out.add("bytes_per_conn", per(static_cast<double>(after.resident_bytes - before.resident_bytes), o.idle));
    out.add("page_table_bytes", per(static_cast<double>(after.page_table_bytes - before.page_table_bytes), o.idle));
}

void measure_rest(const options& o, json_line& out) {
    const server_usage before = read_usage(o.server_pid);
    std::this_thread::sleep_for(std::chrono::milliseconds(o.rest_ms));
    const server_usage after = read_usage(o.server_pid);
    const double rest_ns = static_cast<double>(o.rest_ms) * 1e6;
    out.add("idle_cpu_percent", 100 * static_cast<double>(after.cpu_ns - before.cpu_ns) / rest_ns);
    out.add("idle_switches_per_s", static_cast<double>(after.switches - before.switches) / (rest_ns / 1e9));
}

void measure_load(const options& o, std::vector<connection>& active, json_line& out) {
    const load_result r = run_load(o, active);
    if (r.requests == 0) fail("no request was answered");
    const double wall_us = static_cast<double>(r.wall_ns) / 1000;
    out.add("answered", r.answered);
    out.add("requests", r.requests);
    out.add("us_per_op", per(wall_us, r.requests));
    out.add("requests_per_s", static_cast<double>(r.requests) / wall_us * 1e6);
    out.add("cpu_us", per(static_cast<double>(r.after.cpu_ns - r.before.cpu_ns) / 1000, r.requests));
    out.add("switches", per(static_cast<double>(r.after.switches - r.before.switches), r.requests));
    out.add("p50_us", r.latency.percentile_us(0.5));
    out.add("p99_us", r.latency.percentile_us(0.99));
    out.add("p999_us", r.latency.percentile_us(0.999));
    if (o.rate > 0) out.add("sent_late_p99_us", r.sent_late.percentile_us(0.99));
}

int run(const options& o) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    ::prctl(PR_SET_TIMERSLACK, 1);  // so that requests are sent on time

    std::vector<connection> active;
    std::vector<connection> idle;
    json_line out;
    open_connections(o, active, 0, o.connections);
    if (o.idle > 0) measure_idle(o, idle, out);
    if (o.rest_ms > 0) measure_rest(o, out);
    measure_load(o, active, out);
    out.print();
    return 0;
}

}  // namespace

}  // namespace bench::net

int main(int argc, char** argv) { return bench::net::run(bench::net::parse_options(argc, argv)); }
