#include "environment.h"

#include <cstdlib>
#include <cstring>

namespace weft::test {

environment_variable::environment_variable(const char* name, const char* value) : name_(name) {
    const char* now = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): as above
    if (now != nullptr) before_ = now;
    change_environment(name, value);
}

environment_variable::~environment_variable() { change_environment(name_, before_ ? before_->c_str() : nullptr); }

bool in_storm() {
    const char* debug = std::getenv("RUN_DEBUG");  // NOLINT(concurrency-mt-unsafe): as above
    return debug != nullptr && std::strstr(debug, "retake=always") != nullptr;
}

}  // namespace weft::test
