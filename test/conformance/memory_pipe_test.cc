// memory_pipe_test.cc: bytes between two green threads: order, the end, errors, and waits that are
// interrupted.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <weft/io.h>
#include <weft/weft.h>

#include "support/procs_test.h"
#include "support/scale.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

using MemoryPipe = procs_test;
WEFT_SWEEP(MemoryPipe);

static_assert(io::byte_source<io::memory_pipe_reader> && io::byte_sink<io::memory_pipe_writer>);

std::string counted(std::size_t size) {
    std::string text(size, ' ');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + static_cast<char>(i % 23));
    return text;
}

TEST_P(MemoryPipe, BytesArriveInOrderHoweverMuchFits) {
    rt().run([] {
        for (const std::size_t capacity : {0, 1, 3, 1000, 1 << 20}) {
            const std::string text = counted(capacity < 100 ? 3000 : 300'000);
            auto [reader, writer] = io::make_memory_pipe(capacity);
            std::string got;
            wait_group all;
            all.go([&, w = std::move(writer)]() mutable { EXPECT_EQ(w.write_all(text), text.size()); });
            got = io::buffered_reader(reader, 64).read_rest();
            all.wait();
            EXPECT_EQ(got, text) << capacity;
        }
    });
}

TEST_P(MemoryPipe, EveryByteOfManyWritersArrivesOnce) {
    rt().run([] {
        const int writers = 8;
        const int each = scaled(2000);
        auto [reader, writer] = io::make_memory_pipe(7);
        std::atomic<std::int64_t> sum = 0;
        wait_group readers;
        for (int i = 0; i < 3; ++i) {
            readers.go([&] {
                unsigned char b[5];
                while (const std::size_t n = reader.read_some(b))
                    for (std::size_t k = 0; k < n; ++k) sum += b[k];
            });
        }
        wait_group all;
        for (int i = 0; i < writers; ++i) {
            all.go([&, i] {
                const unsigned char b[2] = {static_cast<unsigned char>(i), static_cast<unsigned char>(i + 1)};
                for (int k = 0; k < each; ++k) writer.write_all(b);
            });
        }
        all.wait();
        writer.close();
        readers.wait();
        EXPECT_EQ(sum, std::int64_t{each} * (28 + 36));
    });
}

TEST_P(MemoryPipe, TheReaderGetsTheRestAndThenTheEnd) {
    rt().run([] {
        auto [reader, writer] = io::make_memory_pipe();
        writer.write_all("rest");
        writer.close();
        writer.close();
        char b[10];
        EXPECT_EQ(reader.read_some(b), 4U);
        EXPECT_EQ(reader.read_some(b), 0U);
        EXPECT_EQ(reader.read_some(b), 0U);
        std::error_code ec;
        EXPECT_EQ(writer.write_some("more", ec), 0U);
        EXPECT_EQ(ec, errc::closed);
        EXPECT_THROW(writer.write_all("more"), std::system_error);
    });
}

TEST_P(MemoryPipe, TheErrorOfTheWriterComesAfterItsBytes) {
    rt().run([] {
        auto [reader, writer] = io::make_memory_pipe();
        writer.write_all("half");
        writer.fail(std::make_error_code(std::errc::io_error));
        writer.fail(std::make_error_code(std::errc::timed_out));  // too late
        io::buffered_reader in(reader);
        std::error_code ec;
        EXPECT_EQ(in.read_line(ec), std::nullopt);
        EXPECT_EQ(ec, std::errc::io_error);
        EXPECT_EQ(in.buffered(), "half");
        char b[10];
        try {
            static_cast<void>(reader.read_some(b));
            ADD_FAILURE() << "no error";
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::io_error);
        }
    });
}

TEST_P(MemoryPipe, WritesFailWhenTheReaderIsGone) {
    rt().run([] {
        auto ends = io::make_memory_pipe(4);
        wait_group all;
        std::error_code ec;
        std::size_t written = 0;
        all.go([&] { written = ends.writer.write_all("0123456789", ec); });
        char b[2];
        EXPECT_EQ(ends.reader.read_some(b), 2U);
        ends.reader = io::memory_pipe_reader();  // closes
        all.wait();
        EXPECT_EQ(ec, std::errc::broken_pipe);
        EXPECT_GE(written, 4U);
        EXPECT_LE(written, 6U);
        EXPECT_EQ(ends.reader.read_some(b, ec), 0U);
        EXPECT_EQ(ec, errc::closed);
    });
}

TEST_P(MemoryPipe, CloseEndsTheWaitOfItsOwnSide) {
    rt().run([] {
        auto [reader, writer] = io::make_memory_pipe(1);
        wait_group all;
        std::error_code read_error;
        std::error_code write_error;
        all.go([&] {
            char b[1];
            static_cast<void>(reader.read_some(b, read_error));
        });
        weft::sleep_for(1ms);
        reader.close();
        all.wait();
        EXPECT_EQ(read_error, errc::closed);

        auto [second_reader, second_writer] = io::make_memory_pipe(1);
        const uint64_t parks = stats().parks;
        all.go([&] { second_writer.write_all("ab", write_error); });
        while (stats().parks == parks) weft::yield();  // until it has written one byte, and waits
        second_writer.close();
        all.wait();
        EXPECT_EQ(write_error, errc::closed);
        char b[4];
        EXPECT_EQ(second_reader.read_some(b), 1U);
        EXPECT_EQ(second_reader.read_some(b), 0U);
    });
}

TEST_P(MemoryPipe, WaitsEndWithADeadlineOrACancellation) {
    rt().run([] {
        auto [reader, writer] = io::make_memory_pipe(1);
        char b[1];
        EXPECT_THROW(with_timeout(1ms, [&] { static_cast<void>(reader.read_some(b)); }), timed_out);
        std::error_code ec;
        with_timeout(1ms, [&] { EXPECT_EQ(reader.read_some(b, ec), 0U); });
        EXPECT_EQ(ec, errc::timed_out);
        writer.write_all("a");
        scope([&](task_scope& s) {
            s.go([&] {
                EXPECT_EQ(writer.write_some("b", ec), 0U);
                EXPECT_EQ(ec, errc::cancelled);
            });
            weft::sleep_for(1ms);
            s.cancel();
        });
        EXPECT_EQ(reader.read_some(b), 1U);
        EXPECT_EQ(b[0], 'a');
        EXPECT_EQ(writer.write_some("c"), 1U) << "the pipe goes on";
        EXPECT_EQ(reader.read_some(b), 1U);
        EXPECT_EQ(b[0], 'c');
    });
}

// A reader that is cancelled just when it is woken must not keep the wake-up from the other one.
TEST_P(MemoryPipe, ACancelledReaderTakesNoBytesAlong) {
    rt().run([] {
        for (int round = 0; round < scaled(300); ++round) {
            auto [reader, writer] = io::make_memory_pipe(4);
            std::atomic<int> got = 0;
            scope([&](task_scope& patient) {
                patient.go([&] {
                    char b[1];
                    while (reader.read_some(b) != 0) ++got;
                });
                scope([&](task_scope& hasty) {
                    hasty.go([&] {
                        char b[1];
                        std::error_code ec;
                        while (reader.read_some(b, ec) != 0) ++got;
                    });
                    writer.write_all("ab");
                    hasty.cancel();
                });
                writer.write_all("cd");
                writer.close();
            });
            ASSERT_EQ(got, 4);
        }
    });
}

TEST_P(MemoryPipe, PlainThreadsMayUseIt) {
    rt().run([] {
        auto [reader, writer] = io::make_memory_pipe(16);
        const std::string text = counted(10'000);
        std::thread sender([&, w = std::move(writer)]() mutable { w.write_all(text); });
        EXPECT_EQ(io::buffered_reader(reader).read_rest(), text);
        sender.join();
    });
}

TEST_P(MemoryPipe, EndsThatWereMovedFromAreClosed) {
    rt().run([] {
        io::memory_pipe_reader reader;
        io::memory_pipe_writer writer;
        char b[1];
        std::error_code ec;
        EXPECT_EQ(reader.read_some(b, ec), 0U);
        EXPECT_EQ(ec, errc::closed);
        EXPECT_EQ(writer.write_some("a", ec), 0U);
        EXPECT_EQ(ec, errc::closed);
        EXPECT_THROW(static_cast<void>(reader.read_some(b)), std::system_error);
        reader.close();
        writer.close();
        writer.fail(std::make_error_code(std::errc::io_error));
    });
}

}  // namespace
}  // namespace weft::test
