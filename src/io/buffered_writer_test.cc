// buffered_writer_test.cc: the stream gets every byte once and in order, also after errors.
#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/io/buffered_writer.h>

namespace weft::io {
namespace {

// Takes at most so many bytes at a time. Each n-th call fails, if n is not 0.
class scripted_sink {
public:
    explicit scripted_sink(std::size_t at_a_time = SIZE_MAX, int fails_each = 0)
        : at_a_time_(at_a_time), fails_each_(fails_each) {}

    std::size_t write_some(const_buffer b, std::error_code& ec) {
        ec.clear();
        ++calls;
        if (fails_each_ != 0 && calls % fails_each_ == 0) {
            ec = std::make_error_code(std::errc::io_error);
            return 0;
        }
        const std::size_t n = std::min(b.size(), at_a_time_);
        got.append(static_cast<const char*>(b.data()), n);
        return n;
    }

    std::size_t write_some(const_buffer b) {
        std::error_code ec;
        const std::size_t n = write_some(b, ec);
        if (ec) throw std::system_error(ec);
        return n;
    }

    std::string got;
    int calls = 0;

private:
    std::size_t at_a_time_;
    int fails_each_;
};

using writer = buffered_writer<scripted_sink>;
static_assert(byte_sink<writer>);

TEST(BufferedWriter, CollectsSmallWrites) {
    scripted_sink to;
    writer out(to, 16);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(out.write_all("ab"), 2U);
    EXPECT_EQ(to.calls, 0);
    EXPECT_EQ(out.pending(), 16U);
    out.write_all("c");
    EXPECT_EQ(to.got, "abababababababab");
    EXPECT_EQ(to.calls, 1);
    out.flush();
    EXPECT_EQ(to.got, "ababababababababc");
    EXPECT_EQ(out.pending(), 0U);
    out.flush();
    EXPECT_EQ(to.calls, 2);
}

TEST(BufferedWriter, LargeWritesAreNotCopied) {
    scripted_sink to;
    writer out(to, 16);
    out.write_all(std::string(100, 'x'));
    EXPECT_EQ(to.calls, 1);
    EXPECT_EQ(to.got, std::string(100, 'x'));
    EXPECT_EQ(out.pending(), 0U);
}

TEST(BufferedWriter, EveryByteArrivesOnceAlsoAfterErrors) {
    for (const std::size_t capacity : {0, 1, 3, 8, 100}) {
        for (const std::size_t at_a_time : {1, 2, 5, 1000}) {
            for (const int fails_each : {0, 2, 3, 7}) {
                scripted_sink to(at_a_time, fails_each);
                std::string sent;
                {
                    writer out(to, capacity);
                    for (int i = 0; i < 40; ++i) {
                        const std::string piece(static_cast<std::size_t>(i % 11), static_cast<char>('a' + i % 26));
                        sent += piece;
                        std::string_view left = piece;
                        while (!left.empty()) {
                            std::error_code ec;
                            left.remove_prefix(out.write_all(left, ec));
                            EXPECT_TRUE(fails_each != 0 || !ec);
                        }
                    }
                    for (;;) {
                        try {
                            out.flush();
                            break;
                        } catch (const std::system_error& e) {
                            EXPECT_EQ(e.code(), std::errc::io_error);
                        }
                    }
                }
                EXPECT_EQ(to.got, sent) << capacity << ", " << at_a_time << ", " << fails_each;
            }
        }
    }
}

TEST(BufferedWriter, TheDestructorFlushesAndDropsErrors) {
    scripted_sink to;
    { writer(to).write_all("end"); }
    EXPECT_EQ(to.got, "end");
    scripted_sink broken(SIZE_MAX, 1);
    { writer(broken).write_all("end"); }
    EXPECT_EQ(broken.calls, 1);
}

TEST(BufferedWriter, TheDestructorDoesNotFlushBecauseOfAnException) {
    scripted_sink to;
    try {
        writer out(to);
        out.write_all("half of a mess");
        throw std::runtime_error("stop");
    } catch (const std::runtime_error&) {
        EXPECT_EQ(to.calls, 0);
    }
}

TEST(BufferedWriter, ASinkThatTakesNothingIsReported) {
    struct lazy {
        std::size_t write_some(const_buffer) { return 0; }

        std::size_t write_some(const_buffer, std::error_code&) { return 0; }
    } to;

    buffered_writer out(to);
    out.write_all("a");
    EXPECT_THROW(out.flush(), std::logic_error);
}

}  // namespace
}  // namespace weft::io
