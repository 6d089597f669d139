// environment.h: environment variables set for a scope.
#pragma once

#include <optional>
#include <string>

namespace weft::test {

// nullptr unsets the variable. No other thread may read the environment then.
void change_environment(const char* name, const char* value);

// Sets the variable to value, or unsets it for nullptr, and restores it at the end of the scope,
// since a whole suite may run with its own settings. No other thread may read the environment then.
class environment_variable {
public:
    environment_variable(const char* name, const char* value);
    ~environment_variable();
    environment_variable(const environment_variable&) = delete;
    environment_variable& operator=(const environment_variable&) = delete;

private:
    const char* name_;
    std::optional<std::string> before_;
};

// Whether the suite runs with RUN_DEBUG=retake=always.
[[nodiscard]] bool in_storm();

// While one exists, runtimes ignore the suite's settings. For tests of what the scheduler does not
// do, or of the order of Gs without retakes.
struct calm {
    environment_variable debug{"RUN_DEBUG", nullptr};
    environment_variable slice{"RUN_SLICE", nullptr};
};

// While one exists, runtimes start without retaking Ps from Gs that block or compute.
struct no_retakes {
    environment_variable debug{"RUN_DEBUG", "retake=0"};
};

// While one exists, runtimes start with retaking Ps as often as possible, even if no G waits.
struct retakes_at_will {
    environment_variable debug{"RUN_DEBUG", "retake=always"};
};

// While one exists, runtimes start without retaking Ps, and with slices of 10 s: a G runs until it
// waits or yields.
struct no_preemption {
    environment_variable debug{"RUN_DEBUG", "retake=0"};
    environment_variable slice{"RUN_SLICE", "10000"};
};

// While one exists, runtimes start with a slice of 0.1 ms.
struct slices_of_100us {
    environment_variable slice{"RUN_SLICE", "0.1"};
};

}  // namespace weft::test
