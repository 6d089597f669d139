// frame_names.cc: see frame_names.h.
#include "observe/frame_names.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "debug/running_here.h"
#include "os/code_mappings.h"
#include "os/symbols.h"
#include "symbols/names.h"

namespace weft::observe::detail {

namespace {

using weft::detail::symbol;
using weft::detail::symbol_kind;

std::string hexadecimal(const unsigned char* bytes, std::size_t size) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

std::string path_of_program() {
    char path[4096];
    const ssize_t size = ::readlink(weft::detail::os::program_file(), path, sizeof(path));
    return size <= 0 ? std::string() : std::string(path, static_cast<std::size_t>(size));
}

std::vector<code_file> read_mappings() {
    std::vector<code_file> all;
    static_cast<void>(weft::detail::os::for_each_code_mapping(
        [](void* closure, const weft::detail::os::code_mapping& m) {
            static_cast<std::vector<code_file>*>(closure)->push_back(
                {m.begin, m.end, m.offset, m.path, hexadecimal(m.build_id, m.build_id_size)});
        },
        &all));
    const std::string program = path_of_program();
    const auto own = std::find_if(all.begin(), all.end(), [&](const code_file& f) { return f.path == program; });
    if (own != all.end()) std::rotate(all.begin(), own, std::next(own));
    return all;
}

}  // namespace

frame_names::frame_names() { renew(); }

void frame_names::renew() {
    std::erase_if(known_, [](const auto& known) { return known.second.file == 0; });
    for (code_file& file : read_mappings()) {
        const auto known = mappings_.find(file.begin);
        if (known != mappings_.end() && known->second.first == file.end) continue;
        mappings_[file.begin] = {file.end, files_.size() + 1};
        files_.push_back(std::move(file));
    }
}

std::size_t frame_names::file_of(uint64_t address) const noexcept {
    const auto after = mappings_.upper_bound(address);
    if (after == mappings_.begin()) return 0;
    const auto& [end, number] = std::prev(after)->second;
    return address < end ? number : 0;
}

const frame_names::named_code& frame_names::name(const void* pc, bool is_exact) {
    // A call may be the last instruction of a function, so its return address may lie in the next
    // one.
    const uint64_t address = reinterpret_cast<uintptr_t>(pc) - (is_exact ? 0 : 1);
    const auto [found, is_new] = known_.try_emplace(address);
    if (is_new) {
        found->second.address = address;
        found->second.file = file_of(address);
        if (found->second.file != 0) ask(pc, is_exact, found->second);
    }
    return found->second;
}

void frame_names::ask(const void* pc, bool is_exact, named_code& into) {
    weft::detail::os::code_place place{};
    if (!weft::detail::os::find_code(pc, place)) return;
    if (!is_exact) --place.address;
    names_.ask(place, nullptr, nullptr, [&](const symbol& s) {
        into.lines.push_back({{s.function, s.file == nullptr ? "" : s.file, s.line}, s.kind});
    });
    if (!into.lines.empty()) return;
    if (place.function == nullptr) {
        ++unnamed_;
        return;
    }
    into.lines.push_back({{weft::detail::readable_name(place.function), "", 0}, weft::detail::kind_of(place.function)});
}

// They have the same name: that of the function, not of calls expanded in it.
bool frame_names::calls_function_at(const void* return_address, const void* pc) {
    if (file_of(reinterpret_cast<uintptr_t>(return_address)) == 0) return false;
    const uintptr_t called = weft::detail::target_of_call(reinterpret_cast<uintptr_t>(return_address));
    if (file_of(called) == 0) return false;
    const named_code& one = name(reinterpret_cast<const void*>(called), true);  // NOLINT(performance-no-int-to-ptr)
    const named_code& other = name(pc, true);
    return !one.lines.empty() && !other.lines.empty() &&
           one.lines.back().text.function == other.lines.back().text.function;
}

std::vector<frame_names::shown_line> frame_names::lines_of(std::span<const void* const> pcs,
                                                           bool is_first_exact,
                                                           shown_frames shown,
                                                           const void* return_without_frame) {
    std::vector<shown_line> lines;  // those that may be left out
    const auto add = [&](const void* pc, bool is_exact) {
        const named_code& code = name(pc, is_exact);
        if (code.file == 0) return false;
        for (std::size_t line = 0; line < code.lines.size(); ++line) lines.push_back({&code, line});
        if (code.lines.empty()) lines.push_back({&code, 0});
        return true;
    };
    for (std::size_t i = 0; i < pcs.size(); ++i) {
        if (!add(pcs[i], is_first_exact && i == 0)) break;  // code without frame pointers has led astray
        if (i == 0 && return_without_frame != nullptr && calls_function_at(return_without_frame, pcs[0]))
            add(return_without_frame, false);
    }
    const auto kind_of_line = [](const shown_line& l) {
        return l.code->lines.empty() ? symbol_kind::program : l.code->lines[l.line].kind;
    };
    const auto is_of_program = [&](const shown_line& l) { return kind_of_line(l) == symbol_kind::program; };
    const auto is_inside = [&](const shown_line& l) {
        return kind_of_line(l) == symbol_kind::runtime || kind_of_line(l) == symbol_kind::glue;
    };
    // Outside of the outermost function of the program, the runtime has called it.
    const auto end = std::find_if(lines.rbegin(), lines.rend(), is_of_program).base();
    const auto begin =
        shown == shown_frames::from_call ? std::find_if_not(lines.begin(), end, is_inside) : lines.begin();
    if (begin == end) return lines;  // nothing but the runtime
    return {begin, end};
}

}  // namespace weft::observe::detail
