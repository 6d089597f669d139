// labels_test.cc: names and labels: which green thread has which, how they are inherited, and where
// they are shown.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <weft/weft.h>

#include "support/captured.h"
#include "support/crossroads.h"
#include "support/eventually.h"
#include "support/procs_test.h"
#include "support/scale.h"
#include "support/stopping.h"

namespace weft::test {
namespace {

using Labels = procs_test;
WEFT_SWEEP(Labels);

// "key=value key=value", in order.
std::string text_of(const label_set& labels) {
    std::string text;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (i != 0) text += ' ';
        text += std::string(labels[i].key) + '=' + std::string(labels[i].value);
    }
    return text;
}

std::string own_labels() { return text_of(this_g::labels()); }

// ---- The set itself.

TEST(LabelSet, KeepsKeysInOrderAndTheLastValueOfEach) {
    EXPECT_TRUE(label_set().empty());
    EXPECT_EQ(label_set().size(), 0U);
    EXPECT_EQ(text_of({{"a", "1"}, {"b", "2"}}), "a=1 b=2");
    EXPECT_EQ(text_of({{"a", "1"}, {"b", "2"}, {"a", "3"}}), "b=2 a=3");
    EXPECT_EQ(text_of({{"", ""}}), "=");
    EXPECT_TRUE(label_set(std::initializer_list<label>{}).empty());
}

TEST(LabelSet, FindsByKey) {
    const label_set set = {{"user", "anna"}, {"request", "17"}, {"none", ""}};
    EXPECT_EQ(set.find("user"), "anna");
    EXPECT_EQ(set.find("request"), "17");
    EXPECT_EQ(set.find("none"), "");
    EXPECT_EQ(set.find("use"), "");
    EXPECT_EQ(label_set().find("user"), "");
}

TEST(LabelSet, JoiningMakesANewSet) {
    const label_set one = {{"a", "1"}, {"b", "2"}};
    EXPECT_EQ(text_of(one.with("c", "3")), "a=1 b=2 c=3");
    EXPECT_EQ(text_of(one.with("a", "3")), "b=2 a=3");
    EXPECT_EQ(text_of(one.with({{"b", "0"}, {"d", "4"}})), "a=1 b=0 d=4");
    EXPECT_EQ(text_of(label_set().with(one)), "a=1 b=2");
    EXPECT_EQ(text_of(one.with(label_set())), "a=1 b=2");
    EXPECT_EQ(text_of(label_set().with("x", "y")), "x=y");
    EXPECT_EQ(text_of(one), "a=1 b=2") << "it has not changed";
}

TEST(LabelSet, OwnsItsTextAndIsCopied) {
    label_set copy;
    {
        std::string key = "key";
        std::string value(1000, 'v');
        const label_set set = {{key, value}};
        copy = set;
        key = "???";
        value.clear();
    }
    EXPECT_EQ(copy.find("key"), std::string(1000, 'v'));
    label_set moved = std::move(copy);
    EXPECT_EQ(moved.size(), 1U);
    const label_set& same = moved;
    moved = same;
    EXPECT_EQ(moved.size(), 1U);
}

// ---- Which green thread has which.

TEST_P(Labels, AreInheritedAtTheStart) {
    rt().run([] {
        EXPECT_EQ(own_labels(), "");
        this_g::set_label("request", "17");
        wait_group all;
        const chan<int> later;
        all.go([&] {
            later.recv();
            EXPECT_EQ(own_labels(), "request=17");
            this_g::set_label("user", "anna");
            EXPECT_EQ(async([] { return own_labels(); }).get(), "request=17 user=anna");
        });
        this_g::set_label("request", "18");
        all.go([] { EXPECT_EQ(own_labels(), "request=18"); });
        all.go({.labels = {{"part", "2"}, {"request", "18b"}}}, [] { EXPECT_EQ(own_labels(), "part=2 request=18b"); });
        go([hold = std::string(100, 'x')] { EXPECT_EQ(own_labels(), "request=18"); });  // not copied as bytes
        this_g::set_labels({});
        all.go([] { EXPECT_EQ(own_labels(), ""); });
        later.send(1);
        all.wait();
        EXPECT_EQ(own_labels(), "");
    });
    rt().drain();
}

TEST_P(Labels, APlainThreadPassesThemInTheOptions) {
    std::string seen;
    this_g::set_label("ignored", "in a plain thread");
    EXPECT_EQ(own_labels(), "");
    rt().go({.labels = {{"a", "1"}}}, [&] { seen = own_labels(); });
    rt().drain();
    EXPECT_EQ(seen, "a=1");
}

TEST_P(Labels, AreDroppedWithTheirGreenThread) {
    std::atomic<int> wrong = 0;
    const int n = scaled(2000);
    rt().run([&] {
        for (int i = 0; i < n; ++i) {
            wait_group one;
            one.go([&, i] {
                wrong += own_labels() != "";
                if (i % 2 == 0) this_g::set_label("number", std::to_string(i));
            });
            one.wait();
        }
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(Labels, StayWithTheirGreenThreadAcrossMigration) {
    std::atomic<int> wrong = 0;
    rt().run([&] {
        const crossroads place;
        wait_group all;
        for (int who = 0; who < 20; ++who) {
            all.go([&, who] {
                this_g::set_label("who", std::to_string(who));
                for (int i = 0; i < 30; ++i) {
                    place.cross();
                    wrong += this_g::labels().find("who") != std::to_string(who);
                    async([&] { wrong += this_g::labels().find("who") != std::to_string(who); }).get();
                }
            });
        }
        all.wait();
    });
    EXPECT_EQ(wrong, 0);
}

TEST_P(Labels, AreReleasedForGreenThreadsThatNeverRan) {
    runtime other({.procs = 1, .retake = false});  // otherwise they have run by then
    std::atomic<bool> laid_out = false;
    other.go([&] {
        this_g::set_label("some", "label");
        for (int i = 0; i < 10; ++i) go({.labels = {{"number", std::to_string(i)}}}, [] {});
        laid_out = true;
        compute_until_stopped();
        weft::yield();
    });
    eventually([&] { return laid_out.load(); });
    EXPECT_EQ(other.abandon(), 11U);
}

// ---- Names.

TEST_P(Labels, ANameCanBeGivenLater) {
    std::vector<std::string> seen;
    rt().go({.name = "first"}, [&] {
        seen.emplace_back(this_g::name());
        this_g::set_name("second");
        weft::yield();
        seen.emplace_back(this_g::name());
        this_g::set_name("0123456789012345678901234567890123456789");
        seen.emplace_back(this_g::name());
        this_g::set_name("");
        seen.emplace_back(this_g::name());
    });
    rt().drain();
    EXPECT_EQ(seen, (std::vector<std::string>{"first", "second", "0123456789012345678901234567890", ""}));
    this_g::set_name("of a plain thread");
    EXPECT_EQ(this_g::name(), "");
}

// ---- In dumps.

std::string dump_of(runtime& rt) {
    return written_by([&](int fd) { rt.dump(fd, {.grouped = false, .names = false}); });
}

TEST_P(Labels, AreShownInDumps) {
    const chan<int> gate;
    park_off_thread(2, [&] {
        rt().go({.name = "labelled", .labels = {{"request", "17"}, {"user", "an\nna"}}}, [&] { gate.recv(); });
        rt().go({.name = "long", .labels = {{"text", std::string(500, 'x')}}}, [&] { gate.recv(); });
    });
    const std::string dump = dump_of(rt());
    EXPECT_NE(dump.find("    labels request=17, user=an?na\n"), std::string::npos) << dump;
    EXPECT_NE(dump.find("    labels text=xxxxxxx"), std::string::npos) << dump;
    EXPECT_NE(dump.find("xxx…\n"), std::string::npos) << dump;
    EXPECT_EQ(dump.find(std::string(200, 'x')), std::string::npos);
    gate.close();
}

TEST_P(Labels, MayChangeWhileDumpsReadThem) {
    std::atomic<bool> over = false;
    std::atomic<long> changes = 0;
    for (unsigned i = 0; i < 2 * procs(); ++i) {
        rt().go([&over, &changes, i] {
            for (int n = 0; !over; ++n) {
                this_g::set_label("who", std::to_string(i));
                this_g::set_label("turn", std::string(static_cast<std::size_t>(n % 100), 'y'));
                this_g::set_name(n % 2 == 0 ? "even" : "odd");
                if (n % 7 == 0) this_g::set_labels({});
                if (n % 5 == 0) {
                    wait_group one;
                    one.go({.labels = {{"child", "of it"}}}, [] {});
                    one.wait();
                }
                ++changes;
                weft::yield();
            }
        });
    }
    std::size_t lines = 0;
    // With 64 threads on a few cores, each dump waits long for every thread.
    const int dumps = scaled(procs() > 8 ? 3 : 50);
    for (int i = 0; i < dumps; ++i) {
        const std::string dump = dump_of(rt());
        for (const std::string& line : lines_of(dump)) {
            if (line.rfind("    labels ", 0) != 0) continue;
            ++lines;
            const std::string_view labels = std::string_view(line).substr(11);
            EXPECT_TRUE(labels.starts_with("who=") || labels.starts_with("turn=") || labels.starts_with("child="))
                << line;
        }
    }
    eventually([&] { return changes > 100; });
    over = true;
    rt().drain();
    RecordProperty("lines", static_cast<int>(lines));
}

}  // namespace
}  // namespace weft::test
