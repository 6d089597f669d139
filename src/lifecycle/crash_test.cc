// crash_test.cc: reports are written as far as their patience allows.
#include "lifecycle/crash.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "os/os.h"
#include "support/eventually.h"
#include "support/two_ends.h"

namespace weft::detail {
namespace {

using test::two_ends;

two_ends small_pipe() {
    two_ends ends = two_ends::of_small_pipe();
    fcntl(ends.read_end(), F_SETFL, O_NONBLOCK);
    return ends;
}

std::string read_all(const two_ends& from) {
    std::string text;
    std::array<char, 4096> page{};
    for (ssize_t n = 0; (n = read(from.read_end(), page.data(), page.size())) > 0;) {
        text.append(page.data(), static_cast<std::size_t>(n));
    }
    return text;
}

constexpr int lines = 1'000;

std::string nth_line(int i) {
    std::string text = std::to_string(i);
    text.resize(20, '.');
    return text + "\n";
}

std::string all_lines() {
    std::string text;
    for (int i = 0; i < lines; ++i) text += nth_line(i);
    return text;
}

void print_lines(report& out) {
    for (int i = 0; i < lines; ++i) out.print("%s", nth_line(i).c_str());
}

// Nothing reads during print; the next report says so.
void expect_left_out_and_told(report::patience p) {
    const two_ends to = small_pipe();
    {
        report out(to.write_end(), p);
        print_lines(out);
        EXPECT_FALSE(out.goes_on());
    }
    const std::string first = read_all(to);
    EXPECT_FALSE(first.empty());
    EXPECT_EQ(all_lines().compare(0, first.size(), first), 0);
    report(to.write_end(), p).print("and then\n");
    const std::string then = read_all(to);
    EXPECT_NE(then.find(" pieces of reports were left out: stderr was not read\nand then\n"), std::string::npos)
        << then;
    report(to.write_end(), p).print("at last\n");
    EXPECT_EQ(read_all(to), "at last\n");
}

TEST(Report, WithLittlePatienceDropsUnreadLines) { expect_left_out_and_told(report::patience::little); }

TEST(Report, WhileReadDropsUnreadLines) { expect_left_out_and_told(report::patience::while_read); }

TEST(Report, LittlePatienceBoundsTheWholeReport) {
    const two_ends to = small_pipe();
    std::string got;
    {
        report out(to.write_end(), report::patience::little);
        int reads = 0;
        for (int i = 0; i < 100 && out.goes_on(); ++i, ++reads) {
            std::thread reader([&] {
                os::sleep_ns(report::little_ns / 2);
                got += read_all(to);
            });
            for (int k = 0; k < 250; ++k) out.print("%s", nth_line(k).c_str());
            reader.join();
        }
        EXPECT_LT(reads, 100);
    }
    read_all(to);
    report(to.write_end(), report::patience::little).print("told\n");  // for the next test
}

// The reader is slower than patience::little allows.
std::string read_slowly(report::patience p) {
    const two_ends to = small_pipe();
    std::string got;
    std::atomic<bool> written = false;
    std::thread reader([&] {
        while (!written) {
            os::sleep_ns(3'000'000);
            got += read_all(to);
        }
    });
    {
        report out(to.write_end(), p);
        print_lines(out);
    }
    written = true;
    reader.join();
    return got + read_all(to);
}

TEST(Report, WithEndlessPatienceIsWrittenInFull) { EXPECT_EQ(read_slowly(report::patience::endless), all_lines()); }

TEST(Report, WhileReadIsWrittenInFullToASlowReader) {
    // A busy machine may delay the reader for longer.
    test::eventually([] { return read_slowly(report::patience::while_read) == all_lines(); });
}

}  // namespace
}  // namespace weft::detail
