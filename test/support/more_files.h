// more_files.h: enough file descriptors for ten thousand connections.
#pragma once

#include <sys/resource.h>

#include <algorithm>

#include <gtest/gtest.h>

namespace weft::test {

// While one exists, the descriptor limit is as high as the process may set it.
class more_files {
public:
    more_files() {
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        const rlim_t wanted = 2 * connections_wanted + others;
        const rlimit enough{.rlim_cur = wanted, .rlim_max = std::max(wanted, before_.rlim_max)};
        if (::setrlimit(RLIMIT_NOFILE, &enough) == 0) return;
        const rlimit most{.rlim_cur = before_.rlim_max, .rlim_max = before_.rlim_max};  // only root may raise it
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &most), 0);
    }

    ~more_files() { ::setrlimit(RLIMIT_NOFILE, &before_); }

    more_files(const more_files&) = delete;
    more_files& operator=(const more_files&) = delete;

    // The most connections, with both ends in this process.
    [[nodiscard]] static int connections() {
        rlimit now{};
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
        return static_cast<int>((std::min<rlim_t>(now.rlim_cur, 2 * connections_wanted + others) - others) / 2);
    }

private:
    static constexpr rlim_t connections_wanted = 10'000;
    static constexpr rlim_t others = 100;  // other files

    rlimit before_{};
};

}  // namespace weft::test
