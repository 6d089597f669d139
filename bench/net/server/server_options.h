// server_options.h: what the C++ servers share: command line, output, and end.
//
//     PROGRAM echo|http --p P --listen tcp|unix:PATH [--buffer BYTES]
//
// P is the number of serving threads. The server takes a free port of 127.0.0.1, or creates the
// socket PATH, and prints one line:
//
//     {"peer":"epoll","version":"gcc 12.2.0","address":"127.0.0.1:4711"}
//
// It serves until its standard input ends or a signal ends it. The servers in Go and Rust take the
// same command line.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace bench::net {

struct server_options {
    int p = 1;
    std::size_t buffer = 8192;
    std::string unix_path;  // empty: TCP
};

// Ends the process with exit code 2 if it does not understand or support the command line.
inline server_options parse_server_options(int argc, char** argv, std::string_view serves) {
    constexpr std::string_view unix_prefix = "unix:";
    server_options o;
    bool ok = argc >= 2 && argc % 2 == 0 && argv[1] == serves;
    for (int i = 2; ok && i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::string_view value = argv[i + 1];
        if (name == "--p") {
            o.p = std::atoi(argv[i + 1]);
        } else if (name == "--buffer") {
            o.buffer = static_cast<std::size_t>(std::atoll(argv[i + 1]));
        } else if (name == "--listen" && value.starts_with(unix_prefix)) {
            o.unix_path = value.substr(unix_prefix.size());
        } else {
            ok = name == "--listen" && value == "tcp";
        }
    }
    if (!ok || o.p < 1 || o.buffer < 1) {
        std::fprintf(stderr, "usage: %s %s --p P --listen tcp|unix:PATH [--buffer BYTES]\n", argv[0], serves.data());
        std::exit(2);
    }
    return o;
}

// Prints the server's address, and makes the process end with its standard input.
inline void announce(const char* peer, const std::string& version, const std::string& address) {
    std::printf("{\"peer\":\"%s\",\"version\":\"%s\",\"address\":\"%s\"}\n", peer, version.c_str(), address.c_str());
    std::fflush(stdout);
    std::thread([] {
        char byte = 0;
        while (::read(STDIN_FILENO, &byte, 1) > 0) {}
        std::_Exit(0);
    }).detach();
}

inline std::string tcp_address(uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

}  // namespace bench::net
