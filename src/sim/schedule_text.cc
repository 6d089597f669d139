// schedule_text.cc: see schedule_text.h.
#include "sim/schedule_text.h"

#include <charconv>
#include <stdexcept>

namespace weft::sim {

namespace {

constexpr std::string_view prefix = "w1.";

[[noreturn]] void refuse(std::string_view text) {
    throw std::invalid_argument("weft::sim: \"" + std::string(text) +
                                "\" is not a schedule; copy the text after WEFT_SIM= from the report of a failure");
}

uint64_t number(std::string_view whole, std::string_view& rest) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc()) refuse(whole);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
}

}  // namespace

std::string to_text(const schedule& s) {
    std::string text;
    put_text(s, [&text](const char* part) { text += part; });
    return text;
}

schedule parse_schedule(std::string_view text) {
    if (!text.starts_with(prefix)) refuse(text);
    schedule s;
    uint64_t next = 0;
    std::string_view rest = text.substr(prefix.size());
    while (!rest.empty()) {
        if (next != 0) {
            if (rest.front() != ',') refuse(text);
            rest.remove_prefix(1);
        }
        deviation d{next + number(text, rest), 1};
        if (!rest.empty() && rest.front() == ':') {
            rest.remove_prefix(1);
            const uint64_t option = number(text, rest);
            if (option == 0 || option > UINT32_MAX) refuse(text);
            d.option = static_cast<uint32_t>(option);
        }
        s.push_back(d);
        next = d.at + 1;
    }
    return s;
}

}  // namespace weft::sim
