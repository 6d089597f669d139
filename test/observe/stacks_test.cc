// stacks_test.cc: recordings that say where green threads waited.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <weft/observe/recorder.h>
#include <weft/observe/stream.h>
#include <weft/weft.h>

#include "support/eventually.h"
#include "support/file_text.h"
#include "support/temp_folder.h"

namespace weft::test {

// The functions that wait, by which the tests know the stacks.
[[gnu::noinline]] int wait_in_the_inner_function(const chan<int>& c) {
    const int value = c.recv().value_or(-1);
    asm volatile("" : : "r"(value) : "memory");  // no tail call
    return value;
}

[[gnu::noinline]] int wait_in_the_outer_function(const chan<int>& c) {
    const int value = wait_in_the_inner_function(c);
    asm volatile("" : : "r"(value) : "memory");
    return value;
}

namespace {

using observe::recorder;
using observe::recording;

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

class RecordedStacks : public ::testing::Test {
protected:
    std::string path(const char* name) { return folder_.path() + "/" + name; }

    std::string text_of(const recording& r) {
        r.write_text(path("text"));
        return file_text(path("text"));
    }

private:
    temp_folder folder_;
};

// One green thread sends, another one waits for each of its values.
void play(std::size_t rounds) {
    const chan<int> c;
    wait_group all;
    all.go([&] {
        for (std::size_t i = 0; i < rounds; ++i) wait_in_the_outer_function(c);
    });
    for (std::size_t i = 0; i < rounds; ++i) {
        yield();  // it waits
        c.send(1);
    }
    all.wait();
}

TEST_F(RecordedStacks, AreInTextsAndSummaries) {
    runtime rt({.procs = 1});
    const recorder r(rt, {.stack_every = 1});
    rt.run([] { play(3); });
    const recording seen = r.snapshot();
    const std::string text = text_of(seen);
    EXPECT_GE(count_of(text, "wait_in_the_inner_function"), 3U) << text;
    EXPECT_GE(count_of(text, ", called by weft::test::wait_in_the_outer_function"), 3U) << text;
    EXPECT_EQ(count_of(text, "waited in weft::chan<int>::recv() const at chan.h:"),
              count_of(text, "wait_in_the_inner_function"))
        << text;
    const std::string summary = seen.summary();
    EXPECT_EQ(count_of(summary, "Where they waited"), 1U) << summary;
    EXPECT_EQ(count_of(summary, "wait_in_the_inner_function"), 1U) << summary;
    EXPECT_EQ(count_of(summary, "chan receive"), 2U) << summary;  // one of the table of waits
}

TEST_F(RecordedStacks, AreInFiles) {
    runtime rt({.procs = 1});
    const recorder r(rt, {.stack_every = 1});
    rt.run([] { play(3); });
    const recording seen = r.snapshot();
    seen.write(path("file"));
    const recording read = recording::read(path("file"));
    EXPECT_EQ(read.summary(), seen.summary());
    EXPECT_EQ(text_of(read), text_of(seen));
    seen.write_chrome_json(path("json"));
    EXPECT_EQ(count_of(file_text(path("json")), "\"args\":{\"stack\":\"weft::chan<int>::recv() const at chan.h:"), 3U);
}

TEST_F(RecordedStacks, AreInStreams) {
    runtime rt({.procs = 1});
    {
        const recorder r(rt, {.stack_every = 1});
        observe::stream to(r, path("stream"));
        rt.run([] { play(3); });
        to.close();
    }
    const std::string summary = recording::read(path("stream")).summary();
    EXPECT_EQ(count_of(summary, "wait_in_the_inner_function"), 1U) << summary;
}

TEST_F(RecordedStacks, AreThoseOfWaitsThatAPlainThreadEnds) {
    runtime rt({.procs = 1});
    const recorder r(rt, {.stack_every = 1});
    const chan<int> c;
    rt.go([c] { wait_in_the_outer_function(c); });
    eventually([&] { return rt.stats().waiting == 1; });
    c.send(1);
    rt.drain();
    const std::string text = text_of(r.snapshot());
    EXPECT_EQ(count_of(text, "waited in weft::chan<int>::recv() const at chan.h:"), 1U) << text;
}

TEST_F(RecordedStacks, AreASample) {
    runtime rt({.procs = 1});
    const recorder r(rt, {.stack_every = 100});
    rt.run([] { play(20'000); });
    const std::size_t count = count_of(text_of(r.snapshot()), "called by weft::test::wait_in_the_inner_function");
    EXPECT_GT(count, 80U);  // 200 are expected; the standard deviation is 14
    EXPECT_LT(count, 320U);
}

TEST_F(RecordedStacks, AreNoneUnlessWanted) {
    runtime rt({.procs = 1});
    {
        const recorder before(rt, {.stack_every = 1});
        rt.run([] { play(1); });
    }
    const recorder r(rt);
    rt.run([] { play(3); });
    EXPECT_EQ(count_of(text_of(r.snapshot()), "waited in"), 0U);
}

TEST_F(RecordedStacks, AreReadWhileGreenThreadsWaitAndEnd) {
    runtime rt({.procs = 4});
    std::atomic<bool> over{false};
    for (int i = 0; i < 8; ++i) {
        rt.go([&over] {
            while (!over) play(2);
        });
    }
    std::size_t stacks = 0;
    for (int i = 0; i < 6; ++i) {
        const recorder r(rt, {.bytes_per_thread = 64 * std::size_t{1024}, .stack_every = i % 2 == 0 ? 1U : 3U});
        const uint64_t before = rt.stats().parks;
        eventually([&] { return rt.stats().parks >= before + 100; });
        const std::string text = text_of(r.snapshot());
        stacks += count_of(text, "waited in ");
        EXPECT_EQ(count_of(text, "waited in 0x"), 0U) << text;
    }
    over = true;
    rt.drain();
    EXPECT_GT(stacks, 0U);
}

}  // namespace
}  // namespace weft::test
