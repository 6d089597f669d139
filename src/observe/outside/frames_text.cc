// frames_text.cc: see frames_text.h.
#include "observe/outside/frames_text.h"

#include <cstdio>

namespace weft::observe::detail {

using weft::detail::symbol_kind;

namespace {

std::string hexadecimal(uint64_t number) {
    char text[32];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(number));
    return text;
}

// Consecutive frames of the runtime are held back as a run until it is known what follows. A run
// at the end is how the runtime has called the program, and left out.
class frame_lines {
public:
    // With templates, also those functions of the runtime that were made for the program.
    frame_lines(bool is_parked, bool templates) : is_parked_(is_parked), templates_(templates) {}

    void add(const code_name& one, const named_address& at) {
        const bool is_shown = one.kind == symbol_kind::program || (templates_ && is_template(one.function));
        if (!is_shown) {
            in_run_ = true;
            if (one.kind == symbol_kind::interface) run_ = one.function;
            return;
        }
        end_run();
        begin_line();
        text_ += one.function;
        text_ += one.file.empty() ? " (" + at.module + "+" + hexadecimal(at.offset) + ")"
                                  : " at " + one.file + ":" + std::to_string(one.line);
        text_ += one.inlined ? " (inlined)\n" : "\n";
    }

    void add_unknown(uint64_t pc, const named_address& at) {
        end_run();
        begin_line();
        text_ += hexadecimal(pc);
        if (!at.module.empty()) text_ += " ? (" + at.module + "+" + hexadecimal(at.offset) + ")";
        text_ += '\n';
    }

    void add_repeated(std::size_t times) {
        end_run();
        text_ += "    … the same " + std::to_string(times) + " more times\n";
    }

    [[nodiscard]] bool is_empty() const noexcept { return index_ == 0; }

    [[nodiscard]] std::string take() && { return std::move(text_); }

private:
    static bool is_template(const std::string& function) noexcept {
        return function.find('<') != std::string::npos &&
               !function.starts_with("weft::detail::(anonymous namespace)::");
    }

    void begin_line() {
        char number[16];
        std::snprintf(number, sizeof(number), "    #%-2d ", index_++);
        text_ += number;
    }

    void end_run() {
        const bool says_why = index_ == 0 && is_parked_;
        if (in_run_ && !run_.empty()) {
            text_ += (says_why ? "    … parked in " : "    … in ") + run_ + "\n";
        } else if (in_run_ && !says_why) {
            text_ += "    … in weft\n";
        }
        in_run_ = false;
        run_.clear();
    }

    std::string text_;
    std::string run_;
    int index_ = 0;
    bool in_run_ = false;
    bool is_parked_;
    bool templates_;
};

frame_lines lines_of(const chain& frames, code& names, bool is_parked, bool templates) {
    constexpr std::size_t worth_counting = 3;
    frame_lines lines(is_parked, templates);
    for (std::size_t i = 0; i < frames.pcs.size();) {
        std::size_t times = 1;
        while (i + times < frames.pcs.size() && frames.pcs[i + times] == frames.pcs[i]) ++times;
        const named_address& at = names.at(frames.pcs[i]);
        for (const code_name& one : at.names) lines.add(one, at);
        if (at.names.empty()) lines.add_unknown(frames.pcs[i], at);
        if (times >= worth_counting) lines.add_repeated(times - 1);
        i += times >= worth_counting ? times : 1;
    }
    return lines;
}

}  // namespace

std::string frames_text(const chain& frames, code& names, bool is_parked) {
    frame_lines lines = lines_of(frames, names, is_parked, false);
    if (lines.is_empty()) lines = lines_of(frames, names, is_parked, true);
    std::string text = std::move(lines).take();
    if (frames.is_cut) text += "    …\n";
    return text;
}

void add_frames(json_text& j, const chain& frames, code& names) {
    for (const uint64_t pc : frames.pcs) {
        const named_address& at = names.at(pc);
        const auto begin = [&] {
            j.open('{').member("pc", hexadecimal(pc));
            if (!at.module.empty()) j.member("module", at.module).member("offset", hexadecimal(at.offset));
        };
        for (const code_name& one : at.names) {
            begin();
            j.member("function", one.function);
            if (!one.file.empty()) j.member("file", one.file).member("line", one.line);
            j.member("inlined", one.inlined).member("kind", weft::detail::text(one.kind)).close('}');
        }
        if (!at.names.empty()) continue;
        begin();
        j.close('}');
    }
}

}  // namespace weft::observe::detail
