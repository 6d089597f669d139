// 32_page.cc: a web page that shows what the green threads of a program do.
//
// needs: weft::observe_page
//
//   32_page           reads a figure from the page, and ends
//   32_page 8090      serves the page on that port, for a browser, until it is interrupted
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include <weft/net/tcp.h>
#include <weft/observe/page.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

void serve(const weft::chan<int>& jobs, weft::mutex& table) {
    for (const int job : jobs) {
        weft::sleep_for(std::chrono::milliseconds(job % 20));
        const std::lock_guard hold(table);
        weft::yield();
    }
}

// Prints the lines of /metrics that begin with these words, as Prometheus would read them.
void print_figures(const weft::observe::page& page, const std::string& name) {
    auto connection = weft::net::tcp_stream::connect(weft::net::endpoint::loopback(page.port()));
    connection.write_all(std::string("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
    std::string answer;
    char piece[4096];
    while (const std::size_t n = connection.read_some(piece)) answer.append(piece, n);
    std::istringstream lines(answer);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(name)) std::printf("%s\n", line.c_str());
    }
}

int main(int argc, char** argv) {
    return weft::main([&] {
        const auto port = static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 0);
        const weft::observe::page page({.port = port, .allow_recording = true});
        std::printf("%s\n", page.url().c_str());
        std::fflush(stdout);

        weft::mutex table;
        const weft::chan<int> jobs;
        weft::scope([&](weft::task_scope& s) {
            for (int i = 0; i < 10; ++i) {
                s.go({.name = "worker", .labels = {{"pool", i < 4 ? "images" : "mail"}}}, [&] { serve(jobs, table); });
            }
            for (int job = 0; job < 100 || argc > 1; ++job) jobs.send(job);
            print_figures(page, "weft_live ");
            jobs.close();
        });
    });
}
