// pprof.cc: see pprof.h.
#include "observe/pprof.h"

#include <protozero/pbf_writer.hpp>

#include "base/utf8.h"

namespace weft::observe::detail {

namespace {

using protozero::pbf_writer;

// Message Profile.
namespace field {
constexpr uint32_t sample_type = 1;
constexpr uint32_t sample = 2;
constexpr uint32_t mapping = 3;
constexpr uint32_t location = 4;
constexpr uint32_t function = 5;
constexpr uint32_t string_table = 6;
constexpr uint32_t time_nanos = 9;
constexpr uint32_t duration_nanos = 10;
constexpr uint32_t period_type = 11;
constexpr uint32_t period = 12;
constexpr uint32_t comment = 13;
constexpr uint32_t default_sample_type = 14;
}  // namespace field

void write_value_type(pbf_writer& to, uint32_t as, uint64_t type, uint64_t unit) {
    pbf_writer v(to, as);
    v.add_int64(1, static_cast<int64_t>(type));
    v.add_int64(2, static_cast<int64_t>(unit));
}

// The format demands UTF-8, but names are cut at a number of bytes, and labels may be anything.
std::string valid_utf8(std::string_view s) {
    constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD
    std::string all;
    all.reserve(s.size());
    while (!s.empty()) {
        const std::size_t size = weft::detail::utf8_size(s);
        all += size == 0 ? replacement : s.substr(0, size);
        s.remove_prefix(size == 0 ? 1 : size);
    }
    return all;
}

void append(std::string& key, std::string_view part) {
    key += part;
    key += '\0';
}

}  // namespace

pprof::pprof(std::span<const value_type> values) {
    text("");  // the first must be empty
    pbf_writer to(bytes_);
    uint64_t last = 0;
    for (const value_type& v : values) {
        last = text(v.type);
        write_value_type(to, field::sample_type, last, text(v.unit));
    }
    to.add_int64(field::default_sample_type, static_cast<int64_t>(last));
}

uint64_t pprof::text(std::string_view s) {
    const auto [found, is_new] = texts_.try_emplace(valid_utf8(s), ordered_texts_.size());
    if (is_new) ordered_texts_.push_back(found->first);
    return found->second;
}

uint64_t pprof::add_mapping(const code_file& file) {
    mappings_.push_back({file, false, false});
    return mappings_.size();
}

uint64_t pprof::function(const code_line& line) {
    std::string key;
    append(key, line.function);
    append(key, line.file);
    const auto [found, is_new] = functions_.try_emplace(key, functions_.size() + 1);
    if (is_new) {
        const uint64_t name = text(line.function);
        const uint64_t file = text(line.file);
        pbf_writer to(bytes_);
        pbf_writer f(to, field::function);
        f.add_uint64(1, found->second);
        f.add_int64(2, static_cast<int64_t>(name));
        // No field 3, the linker's name: if both are the same, tools take the name for a mangled
        // one.
        f.add_int64(4, static_cast<int64_t>(file));
    }
    return found->second;
}

uint64_t pprof::add_location(const std::string& key,
                             uint64_t address,
                             uint64_t mapping,
                             std::span<const code_line> lines) {
    const auto [found, is_new] = locations_.try_emplace(key, locations_.size() + 1);
    if (!is_new) return found->second;
    std::vector<uint64_t> functions;
    functions.reserve(lines.size());
    for (const code_line& line : lines) functions.push_back(function(line));
    pbf_writer to(bytes_);
    pbf_writer l(to, field::location);
    l.add_uint64(1, found->second);
    if (mapping != 0) l.add_uint64(2, mapping);
    l.add_uint64(3, address);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        pbf_writer at(l, 4);
        at.add_uint64(1, functions[i]);
        at.add_int64(2, lines[i].line);
        if (mapping == 0) continue;
        mappings_[mapping - 1].has_functions = true;
        if (!lines[i].file.empty()) mappings_[mapping - 1].has_lines = true;
    }
    return found->second;
}

uint64_t pprof::add_code(uint64_t address, uint64_t mapping, std::span<const code_line> lines) {
    // Of some locations, the innermost lines are left out.
    return add_location(std::to_string(address) + " " + std::to_string(lines.size()), address, mapping, lines);
}

uint64_t pprof::add_place(const code_line& place) {
    std::string key;
    append(key, place.function);
    append(key, place.file);
    append(key, std::to_string(place.line));
    return add_location(key, 0, 0, {&place, 1});
}

void pprof::add_sample(std::span<const uint64_t> locations,
                       std::span<const int64_t> values,
                       std::span<const profile_label> labels) {
    std::vector<std::pair<uint64_t, uint64_t>> texts;
    texts.reserve(labels.size());
    for (const profile_label& label : labels) {
        const uint64_t key = text(label.key);
        texts.emplace_back(key, text(label.text));
    }
    pbf_writer to(bytes_);
    pbf_writer s(to, field::sample);
    s.add_packed_uint64(1, locations.begin(), locations.end());
    s.add_packed_int64(2, values.begin(), values.end());
    for (const auto& [key, value] : texts) {
        pbf_writer label(s, 3);
        label.add_int64(1, static_cast<int64_t>(key));
        label.add_int64(2, static_cast<int64_t>(value));
    }
}

void pprof::add_comment(std::string_view comment) { comments_.push_back(text(comment)); }

void pprof::set_period(const value_type& of, int64_t period) {
    const uint64_t type = text(of.type);
    const uint64_t unit = text(of.unit);
    pbf_writer to(bytes_);
    write_value_type(to, field::period_type, type, unit);
    to.add_int64(field::period, period);
}

void pprof::set_time(int64_t began_unix_ns, int64_t duration_ns) {
    pbf_writer to(bytes_);
    to.add_int64(field::time_nanos, began_unix_ns);
    to.add_int64(field::duration_nanos, duration_ns);
}

std::string pprof::finish() {
    for (std::size_t i = 0; i < mappings_.size(); ++i) {
        const known_mapping& m = mappings_[i];
        const uint64_t path = text(m.file.path);
        const uint64_t build_id = text(m.file.build_id);
        pbf_writer to(bytes_);
        pbf_writer out(to, field::mapping);
        out.add_uint64(1, i + 1);
        out.add_uint64(2, m.file.begin);
        out.add_uint64(3, m.file.end);
        out.add_uint64(4, m.file.offset);
        out.add_int64(5, static_cast<int64_t>(path));
        out.add_int64(6, static_cast<int64_t>(build_id));
        out.add_bool(7, m.has_functions);
        out.add_bool(8, m.has_lines);
        out.add_bool(9, m.has_lines);
        out.add_bool(10, m.has_lines);
    }
    pbf_writer to(bytes_);
    to.add_packed_int64(field::comment, comments_.begin(), comments_.end());
    for (const std::string& s : ordered_texts_) to.add_string(field::string_table, s);
    return std::move(bytes_);
}

}  // namespace weft::observe::detail
