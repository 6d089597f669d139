// environment.h: variables of the environment for the length of a scope.
#pragma once

#include <optional>
#include <string>

namespace weft::test {

// The variable is set to value, or unset for nullptr, until the object is gone; then it is what it was: a whole suite may run with settings
// of its own. Not while other threads read the environment.
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

// Whether the suite runs with processors taken away at will.
[[nodiscard]] bool in_storm();

// While one exists, runtimes begin as if the suite did not run with settings of its own: for tests of what the scheduler does not do, or
// of whose turn it is when nobody is taken a processor away.
struct calm {
    environment_variable debug{"RUN_DEBUG", nullptr};
    environment_variable slice{"RUN_SLICE", nullptr};
};

// While one exists, runtimes begin without taking Ps away from those who block or compute.
struct no_retakes {
    environment_variable debug{"RUN_DEBUG", "retake=0"};
};

// While one exists, runtimes begin with taking Ps away at will, though nobody waits for them.
struct retakes_at_will {
    environment_variable debug{"RUN_DEBUG", "retake=always"};
};

// While one exists, runtimes begin with a slice of 0.1 ms.
struct slices_of_100us {
    environment_variable slice{"RUN_SLICE", "0.1"};
};

}  // namespace weft::test
