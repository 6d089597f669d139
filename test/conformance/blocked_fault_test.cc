// blocked_fault_test.cc: a page fault that takes long delays only the thread that touches the page.

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/bystanders.h"
#include "support/eventually.h"
#include "support/procs_test.h"

namespace weft::test {
namespace {

// Pages that are missing until they are provided, like those of a file on a slow disk.
class slow_pages {
public:
    explicit slow_pages(std::size_t count) : size_(count * page()) {
        // Only faults of user code: that needs no privilege.
        fd_ = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
        if (fd_ < 0) return;
        uffdio_api api{};
        api.api = UFFD_API;
        void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return;
        memory_ = static_cast<char*>(memory);
        uffdio_register range{};
        range.range = {.start = reinterpret_cast<uintptr_t>(memory), .len = size_};
        range.mode = UFFDIO_REGISTER_MODE_MISSING;
        works_ = ::ioctl(fd_, UFFDIO_API, &api) == 0 && ::ioctl(fd_, UFFDIO_REGISTER, &range) == 0;
    }

    ~slow_pages() {
        if (memory_ != nullptr) ::munmap(memory_, size_);
        if (fd_ >= 0) ::close(fd_);
    }

    slow_pages(const slow_pages&) = delete;
    slow_pages& operator=(const slow_pages&) = delete;

    // False where the system does not allow it.
    [[nodiscard]] bool work() const { return works_; }

    [[nodiscard]] volatile char& operator[](std::size_t i) const { return memory_[i * page()]; }

    void provide() const {
        uffdio_zeropage all{};
        all.range = {.start = reinterpret_cast<uintptr_t>(memory_), .len = size_};
        EXPECT_EQ(::ioctl(fd_, UFFDIO_ZEROPAGE, &all), 0);
    }

private:
    static std::size_t page() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

    std::size_t size_;
    int fd_ = -1;
    char* memory_ = nullptr;
    bool works_ = false;
};

using BlockedFault = procs_test;
WEFT_SWEEP_OVER(BlockedFault, 1U, 2U, 4U);

TEST_P(BlockedFault, DelaysNoOtherGreenThread) {
    const unsigned n = procs() + 1;
    const auto pages = std::make_unique<slow_pages>(n);
    if (!pages->work()) GTEST_SKIP() << "no userfaultfd here";
    std::atomic<unsigned> began = 0;
    std::atomic<unsigned> read = 0;
    for (unsigned i = 0; i < n; ++i) {
        rt().go([&, i] {
            ++began;
            read += (*pages)[i] == 0 ? 1 : 100;
        });
    }
    eventually([&] { return began == n; });
    bystanders others(rt());
    EXPECT_TRUE(others.go_on());
    EXPECT_EQ(read, 0U);
    pages->provide();
    rt().drain();
    EXPECT_EQ(read, n);
    // On a busy machine the monitor may come when the slice of a blocked one is over already.
    EXPECT_GT(rt().stats().retakes_blocked + rt().stats().retakes_burning, 0U);
}

}  // namespace
}  // namespace weft::test
