// program_arguments.cc: see program_arguments.h.
#include "program_arguments.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

std::chrono::nanoseconds duration_of(const std::string& text) {
    struct unit {
        std::string_view name;
        double ns;
    };

    double value = 0;
    char rest[8] = "";
    const int fields = std::sscanf(text.c_str(), "%lf%7s", &value, rest);  // NOLINT(cert-err34-c): checked below
    for (const unit& u : {unit{"ns", 1}, unit{"us", 1e3}, unit{"ms", 1e6}, unit{"s", 1e9}, unit{"", 1e9}}) {
        if (fields >= 1 && value >= 0 && value < 1e9 && u.name == rest) {
            return std::chrono::nanoseconds(static_cast<std::int64_t>(value * u.ns));
        }
    }
    throw usage_error("\"" + text + "\" is no time; write 10ms, 1.5s or 200us");
}

const std::string& value_of(const std::vector<std::string>& arguments, std::size_t& i) {
    if (i + 1 == arguments.size()) throw usage_error(arguments[i] + " needs a value");
    return arguments[++i];
}

std::size_t number_of(const std::string& option, const std::string& text) {
    char* end = nullptr;
    const unsigned long value = std::strtoul(text.c_str(), &end, 10);
    if (text.empty() || text[0] == '-' || *end != '\0') throw usage_error(option + " needs a number, not " + text);
    return value;
}
