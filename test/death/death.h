// death.h: how tests state what a process must print before it ends.
#pragma once

#include <csignal>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/build.h"
#include "support/captured.h"
#include "support/emulator.h"
#include "support/form.h"

namespace weft::test {

// The statement runs in its own process, which has no threads and no runtime yet.
class DeathTest : public ::testing::Test {
protected:
    DeathTest() {
        start_children_in_emulator();
        GTEST_FLAG_SET(death_test_style, "threadsafe");
    }
};

// Matches a text that has lines of these forms (see form.h), in this order. Other lines may stand
// between them. Under an emulator, frames have no names, and their lines are not required.
class says {
public:
    using is_gtest_matcher = void;

    explicit says(std::vector<std::string> forms) : forms_(std::move(forms)) {
        if (emulated) std::erase_if(forms_, [](const std::string& form) { return form.starts_with("    "); });
    }

    bool MatchAndExplain(const std::string& text, std::ostream* listener) const {
        std::size_t next = 0;
        for (const std::string& line : lines_of(text)) {
            if (next < forms_.size() && has_form(line, forms_[next])) ++next;
        }
        if (next == forms_.size()) return true;
        if (listener != nullptr) *listener << "which lacks \"" << forms_[next] << '"';
        return false;
    }

    void DescribeTo(std::ostream* out) const {
        for (const std::string& form : forms_) *out << "\n    " << form;
    }

    void DescribeNegationTo(std::ostream* out) const { DescribeTo(&(*out << "not: ")); }

private:
    std::vector<std::string> forms_;
};

// How abort() ends a process.
#if defined(_WIN32)
inline bool by_abort(int code) {
    constexpr unsigned fail_fast = 0xC0000409;  // of UCRT; msvcrt's is 3
    return code == 3 || static_cast<unsigned>(code) == fail_fast;
}
#else
inline bool by_abort(int status) { return ::testing::KilledBySignal(SIGABRT)(status); }
#endif

// The first line that fatal() prints.
inline std::string fatal_line(std::string_view message) { return "weft: fatal: " + std::string(message); }

}  // namespace weft::test

// The statement ends the process by abort(), after printing lines of these forms.
#define EXPECT_ABORT(statement, ...) EXPECT_EXIT(statement, ::weft::test::by_abort, ::weft::test::says({__VA_ARGS__}))
