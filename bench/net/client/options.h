// options.h: the command line of the client.
//
//     echo_client --address A [--NAME VALUE]…
//
//     address      127.0.0.1:PORT, or unix:PATH
//     server_pid   its CPU time, context switches and memory are read from /proc
//     connections  the number that send requests
//     idle         the number that get one echo and then do nothing
//     payload      bytes of a request, and of its echo
//     rate         requests per second, regardless of earlier ones (open loop); 0: each connection
//                  sends a request once it has the previous echo (closed loop)
//     warmup_ms, ms   how long requests are sent before the measurement, and during it
//     rest_ms      how long the idle server is observed before that
//     spin         1: the client never sleeps, so the server never has to wake it
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace bench::net {

struct options {
    std::string address;
    int64_t server_pid = 0;
    int64_t connections = 1;
    int64_t idle = 0;
    int64_t payload = 64;
    int64_t rate = 0;
    int64_t warmup_ms = 200;
    int64_t ms = 1000;
    int64_t rest_ms = 0;
    bool spin = false;
};

// Ends the process because the measurement has failed.
[[noreturn]] inline void fail(const std::string& what) {
    std::fprintf(stderr, "echo_client: %s\n", what.c_str());
    std::exit(1);
}

// Ends the process with exit code 2 if it does not understand the command line.
inline options parse_options(int argc, char** argv) {
    options o;
    int64_t spin = 0;
    const std::map<std::string, int64_t*> numbers{{"--server_pid", &o.server_pid},
                                                  {"--connections", &o.connections},
                                                  {"--idle", &o.idle},
                                                  {"--payload", &o.payload},
                                                  {"--rate", &o.rate},
                                                  {"--warmup_ms", &o.warmup_ms},
                                                  {"--ms", &o.ms},
                                                  {"--rest_ms", &o.rest_ms},
                                                  {"--spin", &spin}};
    bool ok = argc % 2 == 1;
    for (int i = 1; ok && i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--address") {
            o.address = argv[i + 1];
            continue;
        }
        const auto number = numbers.find(name);
        char* end = nullptr;
        const int64_t value = std::strtoll(argv[i + 1], &end, 10);
        ok = number != numbers.end() && *end == '\0' && value >= 0;
        if (ok) *number->second = value;
    }
    o.spin = spin != 0;
    ok = ok && !o.address.empty() && o.server_pid > 0 && o.connections > 0 && o.payload > 0 && o.ms > 0;
    if (!ok) {
        std::fprintf(stderr, "usage: %s --address A --server_pid PID [--NAME VALUE]...; see options.h\n", argv[0]);
        std::exit(2);
    }
    return o;
}

}  // namespace bench::net
