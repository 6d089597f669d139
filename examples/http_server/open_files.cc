#include "open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

namespace http_server {

namespace {

constexpr std::size_t for_others = 64;  // the listener, the log, the runtime, clients that are turned away
constexpr std::size_t for_each_connection = 2;
constexpr std::size_t enough = 10'000;

}  // namespace

std::size_t raise_open_files_limit() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

std::size_t connections_within(std::size_t limit, std::size_t wanted) {
    const std::size_t possible = std::max<std::size_t>(limit, for_others + for_each_connection) - for_others;
    const std::size_t allowed = std::min(wanted == 0 ? enough : wanted, possible / for_each_connection);
    if (allowed < wanted) {
        std::fprintf(stderr,
                     "http_server: the limit of %zu open files allows %zu connections, not %zu: "
                     "raise the limit with \"ulimit -Hn %zu\" as root, or LimitNOFILE= of systemd\n",
                     limit, allowed, wanted, wanted * for_each_connection + for_others);
    }
    return allowed;
}

}  // namespace http_server
