// pprof.h: builds a profile in the protobuf format of pprof.
//
// Field numbers are those of the published schema, proto/profile.proto. A location is an address of
// code, or a place in the source without one. Equal strings, functions, locations and mappings are
// written once.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::observe::detail {

struct value_type {
    std::string_view type;
    std::string_view unit;
};

// A function at an address, or one that is expanded there.
struct code_line {
    std::string function;
    std::string file;  // empty: unknown
    uint32_t line = 0;
};

struct code_file {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t offset = 0;
    std::string path;
    std::string build_id;  // hexadecimal
};

struct profile_label {
    std::string_view key;
    std::string_view text;
};

class pprof {
public:
    // The values of each sample; the last one is what tools show first.
    explicit pprof(std::span<const value_type> values);

    // Mapping number i of code_file's, from 1 on. The first one should be the program.
    uint64_t add_mapping(const code_file& file);

    // Lines, innermost first; none: tools look for the names themselves. mapping: 0: none.
    uint64_t add_code(uint64_t address, uint64_t mapping, std::span<const code_line> lines);

    uint64_t add_place(const code_line& place);

    // Locations, innermost first.
    void add_sample(std::span<const uint64_t> locations,
                    std::span<const int64_t> values,
                    std::span<const profile_label> labels);

    void add_comment(std::string_view text);

    void set_period(const value_type& of, int64_t period);

    void set_time(int64_t began_unix_ns, int64_t duration_ns);

    // The whole message. Called last, once.
    [[nodiscard]] std::string finish();

private:
    struct known_mapping {
        code_file file;
        bool has_functions = false;
        bool has_lines = false;
    };

    uint64_t text(std::string_view s);
    uint64_t function(const code_line& line);
    uint64_t add_location(const std::string& key, uint64_t address, uint64_t mapping, std::span<const code_line> lines);

    std::string bytes_;
    std::unordered_map<std::string, uint64_t> texts_;
    std::vector<std::string> ordered_texts_;
    std::unordered_map<std::string, uint64_t> functions_;
    std::unordered_map<std::string, uint64_t> locations_;
    std::vector<known_mapping> mappings_;
    std::vector<uint64_t> comments_;
};

}  // namespace weft::observe::detail
