// harness_test.cc: checks that the harness of the corpus distinguishes a program that hangs from
// one that does not.

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest-spi.h>

#include "corpus/program.h"

namespace weft::test {
namespace {

using namespace std::chrono_literals;

class ends : public program {
public:
    using program::program;

    void run() override {
        start("other", [this] { sent_.send(1); });
        sent_.recv();
        sleep_for(200us);
    }

private:
    const chan<int> sent_;
};

class ends_wrongly_once : public ends {
public:
    using ends::ends;

    void check() override {
        static bool before = false;
        EXPECT_TRUE(std::exchange(before, true)) << "checked";
    }
};

class hangs : public program {
public:
    using program::program;

    void run() override {
        lock_.lock();
        start("first", [this] { lock_.lock(); });
        start("second", [] { chan<int>::nil().recv(); });
        sleep_for(2ms);
        start("third", [this] { (void)never_.recv(); });
        never_.recv();
    }

private:
    mutex lock_;
    const chan<int> never_;
};

std::vector<blocked> left_of(program& p) {
    runtime rt({.procs = 2});
    std::string dump;
    return left_when_quiet(rt, p, dump);
}

TEST(Corpus, NothingIsLeftOfAProgramThatEnds) {
    ends p({.buggy = true, .forced = true});
    EXPECT_EQ(left_of(p), std::vector<blocked>());
}

TEST(Corpus, AProgramWithATimerIsWaitedFor) {
    hangs p({.buggy = true, .forced = true});
    const std::vector<blocked> left = left_of(p);
    EXPECT_EQ(left, (std::vector<blocked>{{"first", "mutex lock"},
                                          {"main", "chan receive"},
                                          {"second", "chan receive (nil chan)"},
                                          {"third", "chan receive"}}));
}

TEST(Corpus, AProgramThatShouldHangAndEndsIsAFailure) {
    EXPECT_NONFATAL_FAILURE(expect_hang(make<ends>, {{"main", "chan receive"}}), "main [chan receive]");
}

TEST(Corpus, AnUnexpectedWaitReasonIsAFailure) {
    EXPECT_NONFATAL_FAILURE(expect_hang(make<hangs>, {{"first", "mutex lock"},
                                                      {"main", "chan send"},
                                                      {"second", "chan receive (nil chan)"},
                                                      {"third", "chan receive"}}),
                            "main [chan send]");
}

TEST(Corpus, AProgramThatEndsWronglyIsAFailure) {
    EXPECT_NONFATAL_FAILURE(expect_end(make<ends_wrongly_once>, false), "checked");
}

}  // namespace
}  // namespace weft::test
