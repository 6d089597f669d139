// emulator.h: death tests in builds for another processor, whose programs the kernel cannot start.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft::test {

// Makes GoogleTest start the processes of its death tests in the emulator in which this one runs.
// Without an emulator, no effect.
inline void start_children_in_emulator() {
#if defined(WEFT_TEST_EMULATOR)
    std::vector<std::string> command(1);
    for (const char* at = WEFT_TEST_EMULATOR; *at != '\0'; ++at) {
        if (*at == ' ') {
            command.emplace_back();
        } else {
            command.back() += *at;
        }
    }
    for (const std::string& argument : ::testing::internal::GetArgvs()) command.push_back(argument);
    ::testing::internal::SetInjectableArgvs(command);
#endif
}

}  // namespace weft::test
