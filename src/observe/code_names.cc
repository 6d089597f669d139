// code_names.cc: see code_names.h.
#include "observe/code_names.h"

namespace weft::observe::detail {

code_names::code_names(pprof& into) : into_(into) {
    for (const code_file& file : names_.files()) mappings_.push_back(into_.add_mapping(file));
}

std::vector<uint64_t> code_names::locations_of(std::span<const void* const> pcs,
                                               bool is_first_exact,
                                               shown_frames shown,
                                               const void* return_without_frame) {
    const std::vector<frame_names::shown_line> lines =
        names_.lines_of(pcs, is_first_exact, shown, return_without_frame);
    std::vector<uint64_t> locations;
    std::vector<code_line> group;
    for (std::size_t at = 0; at < lines.size();) {
        const frame_names::named_code* code = lines[at].code;
        group.clear();
        // The lines of one address, until the same address comes again.
        std::size_t next = at;
        do {
            if (!code->lines.empty()) group.push_back(code->lines[lines[next].line].text);
            ++next;
        } while (next < lines.size() && lines[next].code == code && lines[next].line != 0);
        at = next;
        locations.push_back(into_.add_code(code->address, mappings_[code->file - 1], group));
    }
    return locations;
}

}  // namespace weft::observe::detail
