// pprof_reader.cc: see pprof_reader.h.
#include "observe/pprof_reader.h"

#include <protozero/pbf_reader.hpp>
#include <stdexcept>
#include <utility>

namespace weft::test {

namespace {

using protozero::pbf_reader;

struct function_text {
    std::string name;
    std::string file;
};

struct location_text {
    uint64_t mapping = 0;
    std::vector<std::pair<uint64_t, int64_t>> lines;  // function, line
};

class reader {
public:
    explicit reader(std::string_view bytes) : bytes_(bytes.data(), bytes.size()) {}

    read_profile read() {
        read_texts();
        for_each([&](pbf_reader& field) { read_table(field); });
        for_each([&](pbf_reader& field) { read_rest(field); });
        return std::move(result_);
    }

private:
    template <typename F>
    void for_each(F use) {
        for (pbf_reader all(bytes_); all.next();) use(all);
    }

    void read_texts() {
        for_each([&](pbf_reader& field) {
            if (field.tag() == 6) {
                texts_.push_back(field.get_string());
            } else {
                field.skip();
            }
        });
        if (texts_.empty() || !texts_[0].empty()) throw std::runtime_error("the first string is not empty");
    }

    const std::string& text(int64_t i) const { return texts_.at(static_cast<std::size_t>(i)); }

    std::string value_type(pbf_reader v) const {
        std::string type;
        std::string unit;
        while (v.next()) {
            if (v.tag() == 1) {
                type = text(v.get_int64());
            } else if (v.tag() == 2) {
                unit = text(v.get_int64());
            } else {
                unknown("ValueType", v.tag());
            }
        }
        return type + "/" + unit;
    }

    [[noreturn]] static void unknown(const char* message, uint32_t tag) {
        throw std::runtime_error(std::string(message) + " has no field " + std::to_string(tag));
    }

    // What samples refer to.
    void read_table(pbf_reader& field) {
        switch (field.tag()) {
            case 3:
                return read_mapping_of(field.get_message());
            case 4:
                return read_location(field.get_message());
            case 5:
                return read_function(field.get_message());
            default:
                return field.skip();
        }
    }

    void read_mapping_of(pbf_reader m) {
        read_mapping into;
        uint64_t id = 0;
        while (m.next()) {
            switch (m.tag()) {
                case 1:
                    id = m.get_uint64();
                    break;
                case 2:
                    into.begin = m.get_uint64();
                    break;
                case 3:
                    into.end = m.get_uint64();
                    break;
                case 5:
                    into.path = text(m.get_int64());
                    break;
                case 6:
                    into.build_id = text(m.get_int64());
                    break;
                case 4:
                case 7:
                case 8:
                case 9:
                case 10:
                    m.skip();
                    break;
                default:
                    unknown("Mapping", m.tag());
            }
        }
        result_.mappings.push_back(into);
        if (id != result_.mappings.size()) throw std::runtime_error("mappings are not numbered from 1");
    }

    void read_location(pbf_reader l) {
        uint64_t id = 0;
        location_text into;
        while (l.next()) {
            switch (l.tag()) {
                case 1:
                    id = l.get_uint64();
                    break;
                case 2:
                    into.mapping = l.get_uint64();
                    break;
                case 3:
                    l.skip();
                    break;
                case 4: {
                    pbf_reader line = l.get_message();
                    std::pair<uint64_t, int64_t> at{0, 0};
                    while (line.next()) {
                        if (line.tag() == 1) {
                            at.first = line.get_uint64();
                        } else if (line.tag() == 2) {
                            at.second = line.get_int64();
                        } else {
                            unknown("Line", line.tag());
                        }
                    }
                    into.lines.push_back(at);
                    break;
                }
                default:
                    unknown("Location", l.tag());
            }
        }
        if (id == 0 || !locations_.emplace(id, into).second)
            throw std::runtime_error("a location's number is not its own");
    }

    void read_function(pbf_reader f) {
        uint64_t id = 0;
        function_text into;
        while (f.next()) {
            switch (f.tag()) {
                case 1:
                    id = f.get_uint64();
                    break;
                case 2:
                    into.name = text(f.get_int64());
                    break;
                case 4:
                    into.file = text(f.get_int64());
                    break;
                default:
                    unknown("Function", f.tag());
            }
        }
        if (id == 0 || !functions_.emplace(id, into).second)
            throw std::runtime_error("a function's number is not its own");
    }

    void read_rest(pbf_reader& field) {
        switch (field.tag()) {
            case 1:
                result_.types.push_back(value_type(field.get_message()));
                return;
            case 2:
                return read_sample_of(field.get_message());
            case 3:
            case 4:
            case 5:
            case 6:
                return field.skip();
            case 9:
                result_.time_ns = field.get_int64();
                return;
            case 10:
                result_.duration_ns = field.get_int64();
                return;
            case 11:
                result_.period_type = value_type(field.get_message());
                return;
            case 12:
                result_.period = field.get_int64();
                return;
            case 13:
                for (const int64_t i : field.get_packed_int64()) result_.comments.push_back(text(i));
                return;
            case 14:
                result_.default_type = text(field.get_int64());
                return;
            default:
                unknown("Profile", field.tag());
        }
    }

    void read_sample_of(pbf_reader s) {
        read_sample into;
        while (s.next()) {
            switch (s.tag()) {
                case 1:
                    for (const uint64_t id : s.get_packed_uint64()) add_location(into, locations_.at(id));
                    break;
                case 2:
                    for (const int64_t value : s.get_packed_int64()) into.values.push_back(value);
                    break;
                case 3:
                    add_label(into, s.get_message());
                    break;
                default:
                    unknown("Sample", s.tag());
            }
        }
        if (into.values.size() != result_.types.size())
            throw std::runtime_error("a sample has not one value of each type");
        result_.samples.push_back(std::move(into));
    }

    void add_location(read_sample& to, const location_text& l) {
        if (l.mapping > result_.mappings.size()) throw std::runtime_error("a location is in no mapping");
        for (const auto& [function, line] : l.lines) {
            const function_text& f = functions_.at(function);
            to.stack.push_back({f.name, f.file, line});
        }
        if (l.lines.empty()) to.stack.emplace_back();
    }

    void add_label(read_sample& to, pbf_reader l) {
        std::string key;
        std::string value;
        while (l.next()) {
            if (l.tag() == 1) {
                key = text(l.get_int64());
            } else if (l.tag() == 2) {
                value = text(l.get_int64());
            } else {
                unknown("Label", l.tag());
            }
        }
        to.labels[key] = value;
    }

    protozero::data_view bytes_;
    read_profile result_;
    std::vector<std::string> texts_;
    std::map<uint64_t, function_text> functions_;
    std::map<uint64_t, location_text> locations_;
};

}  // namespace

bool read_sample::has(std::string_view function) const {
    for (const read_frame& f : stack) {
        if (f.function.find(function) != std::string::npos) return true;
    }
    return false;
}

bool read_sample::is_in(std::string_view function) const {
    return !stack.empty() && stack.front().function.find(function) != std::string::npos;
}

std::string read_sample::label(const std::string& key) const {
    const auto found = labels.find(key);
    return found == labels.end() ? std::string() : found->second;
}

read_profile read_pprof(std::string_view bytes) { return reader(bytes).read(); }

}  // namespace weft::test
