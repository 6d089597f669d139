// dump_json.cc: the JSON form of a dump. docs/debugging.md lists the fields; a field may be added
// within a version of the format, never changed.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "base/utf8.h"
#include "debug/dump_forms.h"
#include "sched/scheduler.h"

namespace weft::detail {

// With quotes. Names are cut at a number of bytes, and may be anything: bytes that are no UTF-8
// become U+FFFD.
void json_writer::print_text(const char* text) noexcept {
    out_.print("\"");
    std::size_t size = 0;
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(size == 0 ? 1 : size)) {
        size = utf8_size(rest);
        const auto c = static_cast<unsigned char>(rest.front());
        if (size != 1) {
            out_.print("%.*s", size == 0 ? 6 : static_cast<int>(size), size == 0 ? "\\ufffd" : rest.data());
        } else if (c == '"' || c == '\\') {
            out_.print("\\%c", c);
        } else if (c < ' ') {
            out_.print("\\u%04x", c);
        } else {
            out_.print("%c", c);
        }
    }
    out_.print("\"");
}

void json_writer::begin(const scheduler& s) noexcept {
    out_.print("{\"format\":\"weft.dump/1\",\"runtime\":");
    print_text(s.name.c_str());
    out_.print(",\"procs\":%u,\"procs_idle\":%u,\"threads\":%u,\"threads_idle\":%u,\"groups\":[", s.ps.in_use(),
               s.idle.ps.count(), s.thread_count.load(relaxed_count), s.idle.ms.count.load(relaxed_count));
}

void json_writer::print_frame(const void* pc, bool is_return_address, bool is_first) noexcept {
    os::code_place place{};
    const bool is_known = os::find_code(pc, place);
    const std::size_t address = place.address;
    if (is_return_address) --place.address;
    const auto print_address = [&] {
        out_.print("\"pc\":\"0x%zx\"", reinterpret_cast<uintptr_t>(pc));
        if (!is_known) return;
        out_.print(",\"module\":");
        print_text(place.module);
        out_.print(",\"offset\":\"0x%zx\"", address);
    };
    const int count = !is_known ? 0 : out_.ask(place, [&](const symbol& s) {
        out_.print(is_first ? "{" : ",{");
        is_first = false;
        print_address();
        out_.print(",\"function\":");
        print_text(s.function);
        if (s.file != nullptr) {
            out_.print(",\"file\":");
            print_text(s.file);
            out_.print(",\"line\":%u", s.line);
        }
        out_.print(",\"inlined\":%s,\"kind\":\"%s\"}", s.inlined ? "true" : "false", text(s.kind));
    });
    if (count != 0) return;
    out_.print(is_first ? "{" : ",{");
    print_address();
    out_.print("}");
}

void json_writer::print_stack(const g_snapshot& g) noexcept {
    out_.print("\"stack\":[");
    for (int i = 0; i < g.frames.count; ++i) print_frame(g.frames.pcs[i], true, i == 0);
    out_.print("]");
    if (g.no_frames != nullptr) {
        out_.print(",\"no_stack\":");
        print_text(g.no_frames);
    }
    if (g.has_runner)
        out_.print(",\"thread\":%d,\"has_proc\":%s,\"proc\":%u", g.on.tid, g.on.has_p ? "true" : "false", g.on.p);
    out_.print(",\"entry\":[");
    print_frame(g.who.entry, false, true);
    out_.print("]");
}

void json_writer::show(const stack_group& group) noexcept {
    const g_snapshot& g = group.first;
    out_.print(is_first_ ? "\n{" : ",\n{");
    is_first_ = false;
    out_.print("\"count\":%llu,\"state\":\"%s\"", static_cast<unsigned long long>(group.count), text(g.state));
    if (g.state == g_state::waiting) out_.print(",\"reason\":\"%s\"", text(g.reason));
    const int64_t shortest_ns = since(group.newest_ns);
    const int64_t longest_ns = since(group.oldest_ns);
    if (shortest_ns >= 0 && longest_ns >= 0) {
        out_.print(",\"since_ns\":[%lld,%lld]", static_cast<long long>(shortest_ns),
                   static_cast<long long>(longest_ns));
    }
    if (g.who.name[0] != '\0' && group.same_name) {
        out_.print(",\"name\":");
        print_text(g.who.name);
    }
    out_.print(",\"ids\":[");
    for (uint64_t i = 0; i < group.count && i < stack_group::ids_max; ++i)
        out_.print("%s%llu", i == 0 ? "" : ",", static_cast<unsigned long long>(group.ids[i]));
    out_.print("],\"pinned\":%s,\"priority\":\"%s\"", (g.flags & special::pinned) != 0 ? "true" : "false",
               (g.flags & special::high) != 0  ? "high"
               : (g.flags & special::low) != 0 ? "low"
                                               : "normal");
    if (g.has_labels && group.same_labels) {
        out_.print(",\"labels\":");
        print_text(g.labels);
    }
    out_.print(",\"started\":{\"file\":");
    print_text(g.who.where.file_name());
    out_.print(",\"line\":%u,\"function\":", static_cast<unsigned>(g.who.where.line()));
    print_text(g.who.where.function_name());
    if (group.same_parent && g.who.parent != 0)
        out_.print(",\"by\":%llu", static_cast<unsigned long long>(g.who.parent));
    out_.print("},");
    print_stack(g);
    out_.print("}");
}

void json_writer::end() noexcept { out_.print("\n]}\n"); }

}  // namespace weft::detail
