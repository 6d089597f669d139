// dump_folded.cc: the folded form of a dump.
#include <cstdio>
#include <cstring>

#include "debug/dump_forms.h"

namespace weft::detail {

// Semicolons separate frames, and the last space the count.
void folded_writer::print_frame(const char* text) noexcept {
    for (const char* at = text; *at != '\0';) {
        const std::size_t plain = std::strcspn(at, ";\n");
        out_.print("%.*s", static_cast<int>(plain), at);
        at += plain;
        if (*at == '\0') break;
        out_.print(":");
        ++at;
    }
}

void folded_writer::show(const stack_group& group) noexcept {
    const g_snapshot& g = group.first;
    out_.print("started at ");
    print_frame(g.who.where.file_name());
    out_.print(":%u", static_cast<unsigned>(g.who.where.line()));
    // A frame expands to several if calls are inlined, so they are asked for outermost first, and
    // each answer, which is innermost first, is kept and reversed.
    char texts[2048];
    for (int i = g.frames.count - 1; i >= 0; --i) {
        os::code_place place{};
        if (!os::find_code(g.frames.pcs[i], place)) continue;
        --place.address;
        std::size_t used = 0;
        std::size_t starts[8];
        std::size_t count = 0;
        const int known = out_.ask(place, [&](const symbol& s) {
            const std::size_t length = std::strlen(s.function);
            const bool fits = count < std::size(starts) && used + length + 1 <= sizeof(texts);
            if (!fits || s.kind == symbol_kind::runtime || s.kind == symbol_kind::glue) return;
            starts[count++] = used;
            std::memcpy(texts + used, s.function, length + 1);
            used += length + 1;
        });
        if (known == 0) out_.print(";%s+0x%zx", place.module, place.address + 1);
        while (count > 0) {
            out_.print(";");
            print_frame(texts + starts[--count]);
        }
    }
    out_.print(";[%s] %llu\n", g.state == g_state::waiting ? text(g.reason) : text(g.state),
               static_cast<unsigned long long>(group.count));
}

}  // namespace weft::detail
