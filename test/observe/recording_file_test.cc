// recording_file_test.cc: recordings in files, and what is read from them.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <weft/observe/recorder.h>
#include <weft/observe/stream.h>
#include <weft/trace.h>
#include <weft/weft.h>

#include "support/captured.h"
#include "support/eventually.h"
#include "support/file_text.h"
#include "support/form.h"
#include "support/scale.h"
#include "support/temp_folder.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;
using observe::recorder;
using observe::recording;
using observe::stream;

void write(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// A request that waits for a lock, whose holder waits for a channel.
void request(weft::mutex& table) {
    const trace::region r("request");
    const std::lock_guard hold(table);
    trace::log("a message of more than sixteen characters");
    trace::counter("requests", 1.5);
}

void record_requests(runtime& rt) {
    rt.run([] {
        weft::mutex table;
        const chan<int> answer;
        wait_group all;
        all.go({.name = "holder"}, [&] {
            const std::lock_guard hold(table);
            answer.recv();
        });
        yield();
        all.go({.name = "slow request"}, [&] { request(table); });
        yield();
        all.go({.name = "answerer"}, [&] {
            compute_for(2ms);
            answer.send(1);
        });
        all.wait();
    });
    rt.drain();
}

class RecordingFile : public ::testing::Test {
protected:
    std::string text_of(const recording& r) {
        r.write_text(path("text"));
        return file_text(path("text"));
    }

    std::string file_of_requests() {
        runtime rt({.procs = 1});
        const recorder r(rt);
        record_requests(rt);
        r.snapshot().write(path("requests"));
        return file_text(path("requests"));
    }

    [[nodiscard]] std::string path(const char* name) const { return folder_ / name; }

private:
    temp_folder folder_;
};

TEST_F(RecordingFile, HasEverythingThatTheRecordingHas) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    record_requests(rt);
    const recording before = r.snapshot();
    before.write(path("file"));
    const recording after = recording::read(path("file"));
    EXPECT_EQ(after.events(), before.events());
    EXPECT_EQ(after.span(), before.span());
    EXPECT_EQ(after.lost(), before.lost());
    EXPECT_EQ(text_of(after), text_of(before));
    EXPECT_EQ(after.summary(), before.summary());
    EXPECT_NE(text_of(after).find("slow request: a message of more than sixteen characters"), std::string::npos);
    EXPECT_NE(text_of(after).find("counter requests is 1.5"), std::string::npos);
}

TEST_F(RecordingFile, IsSmall) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    rt.run([] {
        const chan<int> ping;
        go([ping] {
            while (ping.recv()) {}
        });
        for (int i = 0; i < 20'000; ++i) ping.send(i);
        ping.close();
    });
    const recording all = r.snapshot();
    all.write(path("file"));
    EXPECT_GT(all.events(), 60'000U);
    EXPECT_LE(file_text(path("file")).size(), all.events() * 10);
}

TEST_F(RecordingFile, IsReadAsFarAsItIsWhole) {
    const std::string whole = file_of_requests();
    const std::size_t all = recording::read(path("requests")).events();
    std::size_t most = 0;
    for (std::size_t size = 8; size <= whole.size(); size += size + 3 < whole.size() ? 3 : 1) {
        write(path("part"), std::string_view(whole).substr(0, size));
        const recording part = recording::read(path("part"));
        EXPECT_LE(part.events(), all);
        EXPECT_GE(part.events(), most);  // more of the file has no fewer
        most = part.events();
        static_cast<void>(part.summary());
    }
    EXPECT_EQ(most, all);
}

// Whatever the bytes are, there is a recording or an exception.
TEST_F(RecordingFile, SurvivesDamage) {
    const std::string whole = file_of_requests();
    std::mt19937 random(1);
    int refused = 0;
    const int rounds = scaled(3000);
    for (int i = 0; i < rounds; ++i) {
        std::string damaged = whole;
        for (int k = 0; k < 1 + i % 4; ++k) damaged[8 + random() % (damaged.size() - 8)] = static_cast<char>(random());
        write(path("damaged"), damaged);
        try {
            const recording r = recording::read(path("damaged"));
            static_cast<void>(text_of(r));
            static_cast<void>(r.summary());
            r.write(path("again"));
            r.write_perfetto(path("pftrace"));
            r.write_chrome_json(path("json"));
        } catch (const std::runtime_error& e) {
            ++refused;
            EXPECT_NE(std::string_view(e.what()).find("damaged is not a whole recording: "), std::string_view::npos)
                << e.what();
        }
    }
    EXPECT_GT(refused, rounds / 20);
    EXPECT_LT(refused, rounds);
}

TEST_F(RecordingFile, SaysWhichFileIsNone) {
    write(path("other"), "something else");
    try {
        static_cast<void>(recording::read(path("other")));
        FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string_view(e.what()).find("other is not a recording"), std::string_view::npos);
    }
    try {
        static_cast<void>(recording::read(path("missing")));
        FAIL() << "nothing was thrown";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::no_such_file_or_directory);
        EXPECT_NE(std::string_view(e.what()).find("missing"), std::string_view::npos);
    }
}

TEST_F(RecordingFile, TextOfAWindowHasOnlyIt) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    rt.run([] {
        { const trace::region early("early"); }
        sleep_for(300ms);
        { const trace::region late("late"); }
    });
    const recording all = r.snapshot();
    all.write_text(path("window"), 250ms, 1h);
    const std::string window = file_text(path("window"));
    EXPECT_EQ(window.find("region early"), std::string::npos);
    EXPECT_NE(window.find("region late"), std::string::npos);
}

TEST_F(RecordingFile, SummaryNamesPlacesWaitsDelaysAndRegions) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    record_requests(rt);
    const std::string summary = r.snapshot().summary();
    for (const char* form : {
             "observe_tests, process %d: %s from %d-%d-%d %d:%d:%d.%d UTC%s",
             "%s events of 4 green threads on %d threads; 0 older ones were overwritten",
             "1 Ps ran green threads %s of the time",
             "  recording_file_test.cc:%d%s",
             "%smutex lock %s",
             "%schan receive %s",
             "%sG %d slow request (recording_file_test.cc:%d), made runnable by G %d holder%s",
             "  request%s1%s",
         }) {
        bool found = false;
        for (const std::string& line : lines_of(summary)) found = found || has_form(line, form);
        EXPECT_TRUE(found) << form << "\n" << summary;
    }
}

TEST_F(RecordingFile, CriticalPathFollowsThoseThatEndWaits) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    record_requests(rt);
    const std::string path = r.snapshot().critical_path("request");
    // It waited for the holder, which waited for the one that computed.
    const std::vector<std::string> lines = lines_of(path);
    ASSERT_GE(lines.size(), 3U) << path;
    EXPECT_TRUE(has_form(
        lines[0], "The longest of 1 regions \"request\": %s at %s s, in G %d slow request (recording_file_test.cc:%d)"))
        << path;
    bool computed = false;
    for (const std::string& line : lines)
        computed = computed || has_form(line, "%s ms  %s %  G %d answerer (recording_file_test.cc:%d) runs");
    EXPECT_TRUE(computed) << path;
    EXPECT_EQ(path.find("waits"), std::string::npos) << path;  // all waits were ended by green threads
}

// One that starts during the wait, and ends it, was started by the one that computed before.
TEST_F(RecordingFile, CriticalPathFollowsThoseThatStartOthers) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    rt.run([] {
        const chan<int> answer;
        go({.name = "producer"}, [answer] {
            compute_for(5ms);
            go({.name = "helper"}, [answer] { answer.send(1); });
        });
        const trace::region waiting("waiting");
        answer.recv();
    });
    const std::string path = r.snapshot().critical_path("waiting");
    bool computed = false;
    for (const std::string& line : lines_of(path)) {
        computed = computed || has_form(line, "%s ms  %s %  G %d producer (recording_file_test.cc:%d) runs");
    }
    EXPECT_TRUE(computed) << path;
}

TEST_F(RecordingFile, EachEventIsOneLine) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    rt.run([] { trace::log("first\nsecond \x1b[31m"); });
    EXPECT_NE(text_of(r.snapshot()).find("run: first\\nsecond \\x1b[31m\n"), std::string::npos);
}

TEST_F(RecordingFile, CriticalPathNamesTheRegionsThatThereAre) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    record_requests(rt);
    try {
        static_cast<void>(r.snapshot().critical_path("requests"));
        FAIL() << "nothing was thrown";
    } catch (const std::invalid_argument& e) {
        EXPECT_STREQ(e.what(), "weft: the recording has no region \"requests\"; it has: request (1)");
    }
}

TEST_F(RecordingFile, StreamHasEverythingFromItsBegin) {
    runtime rt({.procs = 2});
    const recorder r(rt);
    rt.run([] { const trace::region early("early"); });
    {
        stream all(r, path("stream"));
        for (int i = 0; i < 50; ++i) {
            rt.run([] {
                const trace::region streamed("streamed");
                const std::string long_message(300, 'x');
                wait_group group;
                for (int k = 0; k < 20; ++k) {
                    group.go({.name = "worker"}, [&long_message] {
                        trace::log(long_message);
                        yield();
                    });
                }
                group.wait();
            });
        }
        rt.drain();
        all.close();
        EXPECT_EQ(all.lost(), 0U);
        EXPECT_GT(all.bytes(), 1000U);
    }
    const recording whole = recording::read(path("stream"));
    const std::string text = text_of(whole);
    EXPECT_EQ(occurrences(text, "begins region early"), 0U);
    EXPECT_EQ(occurrences(text, "begins region streamed"), 50U);
    EXPECT_EQ(occurrences(text, "worker: " + std::string(300, 'x') + "\n"), 1000U);
    EXPECT_EQ(occurrences(text, "worker ends"), 1000U);
    EXPECT_EQ(whole.lost(), 0U);
}

// More events than its rings hold.
TEST_F(RecordingFile, StreamKeepsUp) {
    runtime rt({.procs = 1});
    const recorder r(rt, {.bytes_per_thread = std::size_t{24} * 65'536});
    stream all(r, path("stream"));
    rt.run([&all] {
        for (int i = 0; i < 50; ++i) {
            for (int k = 0; k < 8'000; ++k) trace::counter("count", i);
            const uint64_t before = all.bytes();
            blocking([&] { eventually([&] { return all.bytes() > before; }); });
        }
    });
    all.close();
    EXPECT_EQ(all.lost(), 0U);
    EXPECT_GE(recording::read(path("stream")).events(), 800'000U);
}

TEST_F(RecordingFile, StreamEndsAtItsMostBytes) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    stream all(r, path("stream"), {.most_bytes = 100'000});
    std::atomic<bool> over{false};
    rt.go([&over] {
        while (!over) {
            for (int k = 0; k < 1000; ++k) trace::counter("count", k);
            sleep_for(100us);
        }
    });
    eventually([&] { return all.bytes() >= 100'000; });
    over = true;
    rt.drain();
    all.close();
    const std::size_t size = file_text(path("stream")).size();
    EXPECT_GE(size, 100'000U);
    EXPECT_LE(size, 1'000'000U);
    EXPECT_GT(recording::read(path("stream")).events(), 1000U);
}

TEST_F(RecordingFile, StreamSaysThatItCannotWrite) {
    runtime rt({.procs = 1});
    const recorder r(rt);
    EXPECT_THROW(stream(r, path("missing/folder")), std::system_error);
    stream full(r, "/dev/null");
    full.close();
    full.close();
    EXPECT_THROW(stream(r, "/dev/full"), std::system_error);
}

TEST_F(RecordingFile, StreamOutlivesRecorderAndRuntime) {
    std::unique_ptr<stream> all;
    {
        runtime rt({.procs = 1});
        const recorder r(rt);
        all = std::make_unique<stream>(r, path("stream"));
        rt.run([] { const trace::region only("only"); });
    }
    all->close();
    EXPECT_EQ(occurrences(text_of(recording::read(path("stream"))), "begins region only"), 1U);
}

}  // namespace
}  // namespace weft::test
