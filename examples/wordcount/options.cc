#include "options.h"

#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace wordcount {

namespace {

constexpr std::uint64_t most_green_threads = 100'000'000;
constexpr std::uint64_t most_top_words = 100'000;

// Returns the number of an argument of the form NAME=N; nullopt if the argument is another flag.
std::optional<std::uint64_t> number_of(std::string_view argument,
                                       std::string_view name,
                                       std::uint64_t least,
                                       std::uint64_t most) {
    if (!argument.starts_with(name)) return std::nullopt;
    const std::string_view rest = argument.substr(name.size());
    if (!rest.empty() && rest.front() != '=') return std::nullopt;
    const std::string digits(rest.substr(rest.empty() ? 0 : 1));

    std::uint64_t n = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, n);
    if (error != std::errc() || stop != end || n < least || n > most) {
        throw std::invalid_argument(std::string(name) + "=N needs a whole number from " + std::to_string(least) +
                                    " to " + std::to_string(most) + ", not \"" + digits + "\"");
    }
    return n;
}

void parse_flag(const std::string& argument, options& chosen) {
    if (argument == "--help" || argument == "-h") {
        chosen.help = true;
    } else if (argument == "--json") {
        chosen.json = true;
    } else if (argument == "--no-million") {
        chosen.million = 0;
    } else if (const auto count = number_of(argument, "--million", 1, most_green_threads)) {
        chosen.million = *count;
    } else if (const auto words = number_of(argument, "--top", 0, most_top_words)) {
        chosen.top = *words;
    } else if (const auto readers = number_of(argument, "--readers", 1, most_readers)) {
        chosen.readers = static_cast<unsigned>(*readers);
    } else {
        throw std::invalid_argument("unknown flag \"" + argument + "\"");
    }
}

}  // namespace

options parse_options(const std::vector<std::string>& arguments) {
    options chosen;
    bool flags_over = false;
    bool have_root = false;
    for (const std::string& argument : arguments) {
        if (!flags_over && argument == "--") {
            flags_over = true;
        } else if (!flags_over && argument.size() > 1 && argument.front() == '-') {
            parse_flag(argument, chosen);
        } else if (have_root) {
            throw std::invalid_argument("more than one directory: \"" + chosen.root + "\" and \"" + argument + "\"");
        } else if (argument.empty()) {
            throw std::invalid_argument("the directory's name is empty");
        } else {
            chosen.root = argument;
            have_root = true;
        }
    }
    return chosen;
}

const char* usage() noexcept {
    return "usage: wordcount [FLAG...] [DIRECTORY]\n"
           "Counts the words, lines and bytes of all files below DIRECTORY (/usr/share) three\n"
           "times: in one loop, with a pool of threads, and with green threads. Then parks a\n"
           "million green threads on a channel.\n"
           "  --top=N        show the N most frequent words (10)\n"
           "  --readers=N    green threads that read files (four for every core)\n"
           "  --million=N    park N green threads instead of a million\n"
           "  --no-million   park none\n"
           "  --json         write the result as one JSON object\n"
           "RUN_MAXPROCS=N in the environment sets the number of cores used.\n"
           "Exit status: 0; 1 if the three results differ; 2 if an argument is invalid or the result\n"
           "cannot be written; 3 if the tree changed in every round.\n";
}

}  // namespace wordcount
