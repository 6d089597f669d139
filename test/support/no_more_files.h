// no_more_files.h: a process out of file descriptors.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weft::test {

// While one exists, this process gets no more file descriptors.
class no_more_files {
public:
    no_more_files() {
        const int next = ::dup(0);
        ::close(next);
        EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
        rlimit none = before_;
        none.rlim_cur = static_cast<rlim_t>(next);
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
        // A runtime thread may be reading a system file, whose number is free a moment later.
        for (int i = 0; i < 10; ++i) {
            for (int taken = ::dup(0); taken >= 0; taken = ::dup(0)) taken_.push_back(taken);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    ~no_more_files() {
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0);
        for (const int taken : taken_) ::close(taken);
    }

    no_more_files(const no_more_files&) = delete;
    no_more_files& operator=(const no_more_files&) = delete;

private:
    rlimit before_{};
    std::vector<int> taken_;
};

}  // namespace weft::test
