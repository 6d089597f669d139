// stack_texts.cc: see stack_texts.h.
#include "observe/stack_texts.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "observe/ring_reader.h"
#include "symbols/names.h"

namespace weft::observe::detail {

namespace {

using weft::detail::event_kind;

constexpr std::size_t lines_most = 20;

std::string address_text(uint64_t address) {
    char text[24];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(address));
    return text;
}

bool is_of_program(const frame_names::shown_line& shown) {
    return shown.code->lines.empty() || shown.code->lines[shown.line].kind == weft::detail::symbol_kind::program;
}

std::string line_text(const frame_names::shown_line& shown) {
    if (shown.code->lines.empty()) return address_text(shown.code->address);
    const code_line& line = shown.code->lines[shown.line].text;
    std::string text(line.function);
    if (line.file.empty()) return text;
    const std::string_view file(line.file);
    return text + " at " + std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(line.line);
}

std::string text_of(frame_names& names, const std::string& addresses) {
    std::vector<const void*> pcs(addresses.size() / sizeof(void*));
    std::memcpy(pcs.data(), addresses.data(), pcs.size() * sizeof(void*));
    const std::vector<frame_names::shown_line> all = names.lines_of(pcs, false, shown_frames::from_call);
    const auto program = std::find_if(all.begin(), all.end(), is_of_program);
    const bool calls_weft = program != all.begin() && program != all.end();
    const std::span lines(calls_weft ? program - 1 : all.begin(), all.end());
    std::string text;
    for (const frame_names::shown_line& line : lines.first((std::min)(lines.size(), lines_most))) {
        if (!text.empty()) text += '\n';
        text += line_text(line);
    }
    return text.empty() ? "unknown" : text;
}

}  // namespace

void stack_texts::name(recorded& r) {
    std::unordered_map<std::string, uint32_t> numbers;  // in r, by addresses
    for (step& s : r.steps) {
        if (s.kind != event_kind::stack || s.text == 0) continue;
        const std::string addresses = std::move(r.texts[s.text]);
        const auto [number, is_new] = numbers.try_emplace(addresses, s.text);
        if (!is_new) {
            r.texts[s.text].clear();
            s.text = number->second;
            continue;
        }
        auto known = known_.find(addresses);
        if (known == known_.end()) {
            if (names_ == nullptr) {
                names_ = std::make_unique<frame_names>();
            } else if (numbers.size() == 1) {
                names_->renew();
            }
            known = known_.emplace(addresses, text_of(*names_, addresses)).first;
        }
        r.texts[s.text] = known->second;
    }
}

}  // namespace weft::observe::detail
