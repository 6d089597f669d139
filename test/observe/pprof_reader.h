// pprof_reader.h: what a profile says, decoded from pprof's protobuf format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

struct read_frame {
    std::string function;
    std::string file;
    int64_t line = 0;
};

struct read_sample {
    std::vector<read_frame> stack;  // innermost first, with inlined calls
    std::vector<int64_t> values;
    std::map<std::string, std::string> labels;

    [[nodiscard]] bool has(std::string_view function) const;    // in the stack: a part of its name
    [[nodiscard]] bool is_in(std::string_view function) const;  // the innermost
    [[nodiscard]] std::string label(const std::string& key) const;
};

struct read_mapping {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::string path;
    std::string build_id;
};

struct read_profile {
    std::vector<std::string> types;  // "cpu/nanoseconds"
    std::vector<read_sample> samples;
    std::vector<read_mapping> mappings;
    std::vector<std::string> comments;
    std::string period_type;
    std::string default_type;
    int64_t period = 0;
    int64_t time_ns = 0;
    int64_t duration_ns = 0;

    // The sum of value number i of the samples that are chosen.
    template <typename Choose>
    [[nodiscard]] int64_t sum(std::size_t i, Choose choose) const {
        int64_t all = 0;
        for (const read_sample& s : samples) {
            if (choose(s)) all += s.values.at(i);
        }
        return all;
    }

    [[nodiscard]] int64_t sum(std::size_t i) const {
        return sum(i, [](const read_sample&) { return true; });
    }
};

// Throws if a field is unknown, an index leads nowhere, or a sample has not one value of each type.
[[nodiscard]] read_profile read_pprof(std::string_view bytes);

}  // namespace weft::test
