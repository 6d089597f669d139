// files_test.cc: many green threads read and write files at once, from memory and from disk,
// without delaying others.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/fs.h>
#include <weft/weft.h>

#include "support/build.h"
#include "support/eventually.h"
#include "support/leaks.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using fs::access;
using fs::file;

constexpr std::size_t block_size = 4096;
constexpr fs::open_options anew{.mode = access::read_write, .create = true, .truncate = true};

class Files : public procs_test {
protected:
    // Each block of the file contains its own index.
    static std::string block(std::size_t index) {
        std::string text = std::to_string(index) + ' ';
        text.resize(block_size, static_cast<char>('a' + static_cast<char>(index % 26)));
        return text;
    }

    std::string make(const std::string& name, std::size_t blocks) {
        std::string text;
        for (std::size_t i = 0; i < blocks; ++i) text += block(i);
        const std::string path = folder_ / name;
        fs::write_file(path, text);
        return path;
    }

    temp_folder folder_;
};

WEFT_SWEEP_OVER(Files, 1U, 2U, 4U, 64U);

TEST_P(Files, ReadsReturnWrittenBytes) {
    rt().run([&] {
        file f(folder_ / "a", anew);
        EXPECT_EQ(f.write_all("hello, "), 7U);
        EXPECT_EQ(f.write_some("world"), 5U);
        EXPECT_EQ(f.size(), 12U);
        EXPECT_EQ(f.seek(0), 0);
        char text[32];
        EXPECT_EQ(f.read_some(text), 12U);
        EXPECT_EQ(std::string(text, 12), "hello, world");
        EXPECT_EQ(f.read_some(text), 0U);
        EXPECT_EQ(f.seek(-5, fs::seek_from::end), 7);
        EXPECT_EQ(f.read(text), 5U);
        EXPECT_EQ(std::string(text, 5), "world");
        f.truncate(5);
        EXPECT_EQ(f.pwrite("!", 5), 1U);
        EXPECT_EQ(f.pread(text, 0), 6U);
        EXPECT_EQ(std::string(text, 6), "hello!");
        f.sync();
        f.sync_data();
    });
}

TEST_P(Files, BlocksWrittenByManyAreReadBackFromDisk) {
    const std::string path = folder_ / "blocks";
    constexpr std::size_t blocks = 256;
    constexpr std::size_t workers = 16;
    std::atomic<int> wrong = 0;
    rt().run([&] {
        file f(path, anew);
        {
            wait_group all;
            for (std::size_t w = 0; w < workers; ++w) {
                all.go([&, w] {
                    for (std::size_t i = w; i < blocks; i += workers)
                        f.pwrite(block(i), static_cast<int64_t>(i * block_size));
                });
            }
            all.wait();
        }
        for (int round = 0; round < scaled(10); ++round) {
            evict(path);
            wait_group all;
            for (std::size_t w = 0; w < workers; ++w) {
                all.go([&, w] {
                    std::string got(block_size, ' ');
                    for (std::size_t k = w; k < blocks; k += workers) {
                        const std::size_t i = k * 37 % blocks;  // not in sequence: no read-ahead
                        const std::size_t n = f.pread(got, static_cast<int64_t>(i * block_size));
                        if (n != block_size || got != block(i)) ++wrong;
                    }
                });
            }
            all.wait();
        }
    });
    EXPECT_EQ(wrong, 0);
}

// More reads than the system takes requests at a time.
TEST_P(Files, AThousandConcurrentReadsSucceed) {
    constexpr std::size_t blocks = 1000;
    const std::string path = make("many", blocks);
    evict(path);
    std::atomic<int> wrong = 0;
    rt().run([&] {
        file f(path);
        wait_group all;
        for (std::size_t k = 0; k < blocks; ++k) {
            all.go([&, i = k * 617 % blocks] {
                std::string got(block_size, ' ');
                if (f.pread(got, static_cast<int64_t>(i * block_size)) != block_size || got != block(i)) ++wrong;
            });
        }
        all.wait();
    });
    EXPECT_EQ(wrong, 0);
}

// As POSIX specifies: each read advances the position, and no two reads get the same bytes.
TEST_P(Files, ConcurrentReadsAtThePositionGetDistinctBytes) {
    constexpr std::size_t blocks = 400;
    const std::string path = make("shared", blocks);
    for (int round = 0; round < scaled(10); ++round) {
        evict(path);
        std::array<std::atomic<int>, blocks> seen{};
        std::atomic<int> short_reads = 0;
        rt().run([&] {
            file f(path);
            wait_group all;
            for (int w = 0; w < 8; ++w) {
                all.go([&] {
                    std::array<char, block_size> got;
                    while (const std::size_t n = f.read_some(got)) {
                        if (n != block_size) {
                            ++short_reads;
                            continue;
                        }
                        ++seen[static_cast<std::size_t>(std::atoi(got.data()))];  // NOLINT: a number and a blank
                    }
                });
            }
            all.wait();
        });
        if (short_reads != 0) continue;  // the system may do that: what they got cannot be told then
        for (std::size_t i = 0; i < blocks; ++i) ASSERT_EQ(seen[i], 1) << i;
    }
}

TEST_P(Files, VectoredIoHandlesManyBuffers) {
    rt().run([&] {
        file f(folder_ / "v", anew);
        // More pieces than fit into one system call, some of them empty.
        std::vector<std::string> pieces;
        std::string whole;
        for (int i = 0; i < 150; ++i) {
            pieces.push_back(i % 7 == 0 ? std::string() : std::to_string(i) + ' ');
            whole += pieces.back();
        }
        const std::vector<fs::const_buffer> from(pieces.begin(), pieces.end());
        EXPECT_EQ(f.pwritev(from, 10), whole.size());
        EXPECT_EQ(f.pwritev({}, 0), 0U);
        std::string first(3, ' ');
        std::string none;
        std::string second(whole.size(), ' ');
        const std::array<fs::mutable_buffer, 3> into{fs::mutable_buffer(first), fs::mutable_buffer(none),
                                                     fs::mutable_buffer(second)};
        EXPECT_EQ(f.preadv(into, 10), whole.size());
        second.resize(whole.size() - 3);
        EXPECT_EQ(first + second, whole);
        EXPECT_EQ(f.preadv(into, 0), whole.size() + 3);
    });
}

// A read runs to its end, whatever context is around it. So does a read that begins after the
// interruption.
TEST_P(Files, NothingInterruptsARead) {
    constexpr std::size_t blocks = 64;
    const std::string path = make("whole", blocks);
    std::atomic<std::size_t> got = 0;
    rt().run([&] {
        file f(path);
        evict(path);
        std::string text(blocks * block_size, ' ');
        with_deadline(std::chrono::steady_clock::now() - 1s, [&] { got += f.pread(text, 0); });
        evict(path);
        scope([&](auto& s) {
            s.go([&] {
                for (std::size_t i = 0; i < blocks; ++i) {
                    char b[block_size];
                    got += f.pread(b, static_cast<int64_t>((i * 29 % blocks) * block_size));
                }
            });
            s.cancel();
        });
    });
    EXPECT_EQ(got, 2 * blocks * block_size);
}

// Neither a read from a FIFO nor opening one delays others.
TEST_P(Files, AFifoDelaysNoOtherGreenThread) {
    const std::string path = folder_ / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::atomic<int> turns = 0;
    std::atomic<bool> over = false;
    rt().run([&] {
        wait_group all;
        all.go([&] {
            file f(path);
            std::string text(5, ' ');
            EXPECT_EQ(f.read(text), 5U);
            EXPECT_EQ(text, "hello");
            EXPECT_EQ(f.read(text), 0U);
            over = true;
        });
        all.go([&] {
            while (!over) ++turns, yield();
        });
        eventually([&] { return turns > 100; });
        file f(path, {.mode = access::write});
        const int before = turns;
        eventually([&] { return turns > before + 100; });
        f.write_all("hello");
        f.close();
        all.wait();
    });
}

TEST_P(Files, AnyGreenThreadMayClose) {
    rt().run([&] {
        file f(folder_ / "c", anew);
        EXPECT_TRUE(f.is_open());
        wait_group all;
        std::atomic<int> closed = 0;
        for (int i = 0; i < 8; ++i) {
            all.go([&] {
                std::error_code ec;
                while (!ec) f.pwrite("text", 0, ec);
                if (ec == errc::closed) ++closed;
            });
        }
        yield();
        f.close();
        f.close();
        all.wait();
        EXPECT_EQ(closed, 8);
        EXPECT_FALSE(f.is_open());
    });
}

TEST_P(Files, PlainThreadsReadAndWrite) {
    constexpr std::size_t blocks = 100;
    const std::string path = make("plain", blocks);
    evict(path);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> all;
    file f(path, {.mode = access::read_write});
    for (int t = 0; t < 4; ++t) {
        all.emplace_back([&] {
            std::string got(block_size, ' ');
            for (std::size_t i = 0; i < blocks; ++i) {
                if (f.pread(got, static_cast<int64_t>(i * block_size)) != block_size || got != block(i)) ++wrong;
            }
        });
    }
    for (std::thread& t : all) t.join();
    f.sync();
    EXPECT_EQ(wrong, 0);
}

// A green thread that has handed off its P counts as a plain thread.
TEST_P(Files, ReadingInABlockingCallWorks) {
    const std::string path = make("b", 10);
    evict(path);
    EXPECT_EQ(rt().run([&] { return blocking([&] { return fs::read_file(path).size(); }); }), 10 * block_size);
}

// The kernel still writes into the stacks of green threads that will never run again.
TEST(FilesAtTheEnd, StopWaitsForReadsIntoItsStacks) {
    leak_on_purpose();  // what abandoned green threads own
    const temp_folder folder;
    const std::string path = folder / "f";
    constexpr std::size_t blocks = 500;
    fs::write_file(path, std::string(blocks * block_size, 'x'));
    for (int round = 0; round < scaled(50); ++round) {
        evict(path);
        auto f = std::make_shared<file>(path);
        runtime rt({.procs = 2});
        std::atomic<int> begun = 0;
        for (std::size_t i = 0; i < 64; ++i) {
            rt.go([&, f, i] {
                char b[4 * block_size];
                ++begun;
                static_cast<void>(f->pread(b, static_cast<int64_t>(i * 7 * block_size)));
            });
        }
        eventually([&] { return begun > 8; });
        rt.abandon();
    }
}

TEST(FilesAtTheEnd, ADeadlineOfStopWaitsForReads) {
    const temp_folder folder;
    const std::string path = folder / "f";
    fs::write_file(path, std::string(100 * block_size, 'x'));
    evict(path);
    runtime rt({.procs = 2});
    std::atomic<int> read = 0;
    for (std::size_t i = 0; i < 50; ++i) {
        rt.go([&, i] {
            file f(path);
            char b[block_size];
            if (f.pread(b, static_cast<int64_t>(i * block_size)) == block_size) ++read;
        });
    }
    const stop_outcome done = rt.shutdown(10s);
    EXPECT_EQ(done.abandoned + done.stragglers, 0U);
    EXPECT_EQ(read, 50);
}

}  // namespace
}  // namespace weft::test
