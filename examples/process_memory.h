// process_memory.h: how much memory is available, and how much this process uses. For the examples
// that start a million green threads.
//
// All values come from /proc and /sys/fs/cgroup. A missing file (no cgroups, a container without
// /proc) counts as "no limit known" or as 0; no function here fails.
//
// See: proc(5); cgroup-v1/memory.rst and cgroup-v2.rst in the kernel's documentation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

namespace process_memory {

inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// The number after key in a file with lines like "VmRSS:   1234 kB" or "inactive_file 4096",
// unscaled. Returns otherwise if there is no such line.
inline std::uint64_t field(const std::string& path, std::string_view key, std::uint64_t otherwise) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name;
        std::uint64_t value = 0;
        if (words >> name && name == key && words >> value) return value;
    }
    return otherwise;
}

// The only number in a file. Returns otherwise if the file contains "max" or does not exist.
inline std::uint64_t number_in(const std::string& path, std::uint64_t otherwise) {
    std::ifstream file(path);
    std::uint64_t value = 0;
    return file >> value ? value : otherwise;
}

inline std::uint64_t resident_bytes() { return field("/proc/self/status", "VmRSS:", 0) * 1024; }

inline std::uint64_t page_table_bytes() { return field("/proc/self/status", "VmPTE:", 0) * 1024; }

// How many bytes one memory cgroup still allows. File pages that the kernel can drop at once count
// as free.
inline std::uint64_t left_in_cgroup(const std::string& folder, bool is_v2) {
    const std::uint64_t limit = number_in(folder + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes"), no_limit);
    if (limit >= no_limit / 4) return no_limit;  // v1 says "no limit" with a number near 2^63
    const std::uint64_t used = number_in(folder + (is_v2 ? "/memory.current" : "/memory.usage_in_bytes"), 0);
    const std::uint64_t cached = field(folder + "/memory.stat", is_v2 ? "inactive_file" : "total_inactive_file", 0);
    return limit - std::min(limit, used - std::min(used, cached));
}

// How many bytes the cgroups of this process still allow: the minimum over its own and all their
// ancestors.
inline std::uint64_t left_in_cgroups() {
    std::uint64_t left = no_limit;
    std::ifstream memberships("/proc/self/cgroup");  // lines "4:memory:/a/b" (v1) or "0::/a/b" (v2)
    for (std::string line; std::getline(memberships, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        const bool is_v2 = controllers == ",,";
        if (!is_v2 && controllers.find(",memory,") == std::string::npos) continue;

        const std::string root = is_v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
        for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
            if (path == "/") path.clear();
            left = std::min(left, left_in_cgroup(root + path, is_v2));
            if (path.rfind('/') == std::string::npos) break;
        }
    }
    return left;
}

// How many bytes this process can use without exhausting the memory of the machine or its
// container.
inline std::uint64_t available_bytes() {
    const std::uint64_t in_kib = field("/proc/meminfo", "MemAvailable:", no_limit);
    return std::min(in_kib == no_limit ? no_limit : in_kib * 1024, left_in_cgroups());
}

// The cost of one parked green thread: its G, one page of stack, a share of the kernel's page
// tables. Measured with a million: 4.4 KiB resident and 0.5 KiB of page tables each. The rest is
// margin.
inline constexpr std::uint64_t bytes_per_parked_g = 5 * 1024;

// How many green threads to park if wanted are requested: as many as fit into three quarters of the
// available memory.
inline std::uint64_t count_that_fits(std::uint64_t wanted, std::uint64_t available) {
    return std::min(wanted, available / 4 * 3 / bytes_per_parked_g);
}

}  // namespace process_memory
