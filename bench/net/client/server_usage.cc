#include "server_usage.h"

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "options.h"

namespace bench::net {

namespace {

// The number after `name:` in a file of /proc; 0 if missing.
int64_t number_after(const std::filesystem::path& path, const std::string& name) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name)) return std::stoll(line.substr(name.size()));
    }
    return 0;
}

std::filesystem::path of_process(int64_t pid) { return "/proc/" + std::to_string(pid); }

}  // namespace

server_usage read_usage(int64_t pid) {
    server_usage result;
    bool any = false;
    std::error_code ec;
    for (const auto& thread : std::filesystem::directory_iterator(of_process(pid) / "task", ec)) {
        int64_t cpu_ns = 0;
        std::ifstream(thread.path() / "schedstat") >> cpu_ns;
        result.cpu_ns += cpu_ns;
        result.switches += number_after(thread.path() / "status", "voluntary_ctxt_switches:");
        any = true;
    }
    if (ec || !any) fail("the server has ended");
    return result;
}

server_memory read_server_memory(int64_t pid) {
    const std::filesystem::path status = of_process(pid) / "status";
    const server_memory result{number_after(status, "VmRSS:") * 1024, number_after(status, "VmPTE:") * 1024};
    if (result.resident_bytes == 0) fail("the server has ended");
    return result;
}

}  // namespace bench::net
