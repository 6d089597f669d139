// files_test.cc: files where io_uring is switched off, forbidden or missing, and in the child of a
// fork. Each test has its own process.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string>

#include <weft/fs.h>
#include <weft/weft.h>

#include "death/death.h"
#include "fs/file_ring.h"
#include "os/io_ring.h"
#include "support/build.h"
#include "support/eventually.h"
#include "support/failing_calls.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

constexpr std::size_t block_size = 4096;
constexpr std::size_t blocks = 500;

class FilesDeath : public DeathTest {};

std::size_t blocks_in_memory(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    void* const at = ::mmap(nullptr, blocks * block_size, PROT_READ, MAP_SHARED, fd, 0);
    unsigned char resident[blocks] = {};
    const bool known = at != MAP_FAILED && ::mincore(at, sizeof(resident) * block_size, resident) == 0;
    if (at != MAP_FAILED) ::munmap(at, blocks * block_size);
    ::close(fd);
    return known ? static_cast<std::size_t>(
                       std::count_if(resident, resident + blocks, [](unsigned char r) { return (r & 1) != 0; }))
                 : blocks;
}

// The kernel keeps pages that something else uses at that moment, such as the journal.
void evict_most(const std::string& path) {
    eventually([&] {
        evict(path);
        return blocks_in_memory(path) <= blocks / 2;
    });
}

// How often green threads waited while they read the file from disk; -1 if what they read was
// wrong.
int waits_for_disk(const std::string& path) {
    evict(path);
    runtime rt({.procs = 2});
    std::atomic<int> wrong = 0;
    uint64_t before = 0;
    rt.run([&] {
        fs::file f(path);
        wait_group all;
        before = rt.stats().parks;
        for (int w = 0; w < 8; ++w) {
            all.go([&] {
                std::string got(block_size, ' ');
                for (std::size_t i = 0; i < blocks; ++i) {
                    const std::size_t at = i * 197 % blocks;
                    if (f.pread(got, static_cast<int64_t>(at * block_size)) != block_size || got[0] != 'x') ++wrong;
                }
            });
        }
        all.wait();
    });
    return wrong != 0 ? -1 : static_cast<int>(rt.stats().parks - before);
}

std::string make_file(const temp_folder& folder) {
    fs::write_file(folder / "f", std::string(blocks * block_size, 'x'));
    return folder / "f";
}

constexpr long io_uring_setup = 425;
constexpr int waits_only_for_the_group = 1;

TEST_F(FilesDeath, AreReadWithoutIoUringIfDisabled) {
    const temp_folder folder;
    const std::string path = make_file(folder);
    EXPECT_EXIT(
        {
            setenv("RUN_IO_URING", "0", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
            const int waits = waits_for_disk(path);
            std::_Exit(waits >= 0 && waits <= waits_only_for_the_group ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "^$");
}

TEST_F(FilesDeath, AreReadSilentlyIfIoUringIsUnavailable) {
    if (emulated) GTEST_SKIP() << "the emulator has no filters";
    const temp_folder folder;
    const std::string path = make_file(folder);
    for (const uint32_t error : {EPERM, ENOSYS, EACCES, ENOMEM}) {
        EXPECT_EXIT(
            {
                fail_from_now_on(io_uring_setup, error);
                const int waits = waits_for_disk(path);
                std::_Exit(waits >= 0 && waits <= waits_only_for_the_group ? 0 : 1);
            },
            ::testing::ExitedWithCode(0), "^$")
            << error;
    }
}

// The ring refuses every submission, with transient errors and with others. The read is then an
// ordinary system call.
TEST_F(FilesDeath, AreReadIfTheRingRefusesSubmissions) {
    if (emulated) GTEST_SKIP() << "the emulator has no filters";
    const temp_folder folder;
    const std::string path = make_file(folder);
    constexpr long io_uring_enter = 426;
    for (const uint32_t error : {EAGAIN, EBUSY, EINVAL, EPERM}) {
        EXPECT_EXIT(
            {
                fail_from_now_on(io_uring_enter, error);
                std::_Exit(waits_for_disk(path) >= 0 ? 0 : 1);
            },
            ::testing::ExitedWithCode(0), "^$")
            << error;
    }
}

// The ring is asked for directly: a read asks for it only if it has to wait, and no read does where
// files lie in memory.
TEST_F(FilesDeath, AnInvalidSettingOfIoUringIsReported) {
    EXPECT_EXIT(
        {
            setenv("RUN_IO_URING", "never", 1);  // NOLINT(concurrency-mt-unsafe): no threads yet
            runtime rt;
            rt.run([] { static_cast<void>(detail::file_ring::of_caller()); });
            std::_Exit(0);
        },
        ::testing::ExitedWithCode(0), "RUN_IO_URING=\"never\" is not a number from 0 to 1; using 1");
}

TEST_F(FilesDeath, GreenThreadsParkDuringIoUringReads) {
    detail::os::io_ring ring;
    if (ring.open() != 0) GTEST_SKIP() << "there is no io_uring here";
    const temp_folder folder;
    const std::string path = make_file(folder);
    if (fs::read_file("/proc/self/mounts").find(" / ext4") == std::string::npos)
        GTEST_SKIP() << "whether there is a disk nobody knows";
    EXPECT_EXIT(
        {
            evict_most(path);
            std::_Exit(waits_for_disk(path) > waits_only_for_the_group ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "^$");
}

// Green threads of the parent are in the middle of reads. The child has its own ring.
TEST_F(FilesDeath, TheChildOfAForkReadsWithoutTheParentsRing) {
    if (built_with_tsan || emulated) GTEST_SKIP() << "neither knows processes that fork with threads and start some";
    const temp_folder folder;
    const std::string path = make_file(folder);
    EXPECT_EXIT(
        {
            runtime parent({.procs = 2});
            std::atomic<bool> over = false;
            std::atomic<int> reads = 0;
            for (int w = 0; w < 8; ++w) {
                parent.go([&, w] {
                    fs::file f(path);
                    char b[block_size];
                    for (std::size_t i = static_cast<std::size_t>(w); !over; i += 31) {
                        static_cast<void>(f.pread(b, static_cast<int64_t>(i % blocks * block_size)));
                        if (++reads % 100 == 0) evict(path);
                    }
                });
            }
            bool good = true;
            for (int i = 0; i < 5 && good; ++i) {
                const pid_t child = ::fork();
                if (child == 0) {
                    ::alarm(60);
                    std::_Exit(waits_for_disk(path) >= 0 ? 0 : 1);
                }
                int status = 0;
                while (::waitpid(child, &status, 0) < 0) {}
                good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
            }
            over = true;
            parent.drain();
            parent.abandon();
            std::_Exit(good ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace weft::test
