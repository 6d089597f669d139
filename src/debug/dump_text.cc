// dump_text.cc: the text form of a dump.
#include "debug/dump_forms.h"
#include "sched/scheduler.h"

namespace weft::detail {

namespace {

constexpr int creators_max = 8;

struct duration {
    int64_t count;
    const char* unit;

    explicit duration(int64_t ns) noexcept : count(ns / 1'000'000), unit("ms") {
        if (count >= 60'000) {
            *this = {count / 60'000, "minutes"};
        } else if (count >= 1'000) {
            *this = {count / 1'000, "s"};
        }
    }

    friend bool operator==(const duration& a, const duration& b) noexcept {
        return a.count == b.count && a.unit == b.unit;
    }

private:
    duration(int64_t n, const char* u) noexcept : count(n), unit(u) {}
};

void print_range(report& out, const duration& shortest, const duration& longest) noexcept {
    if (!(shortest == longest))
        out.print(", %lld %s to %lld %s", static_cast<long long>(shortest.count), shortest.unit,
                  static_cast<long long>(longest.count), longest.unit);
    else
        out.print(", %lld %s", static_cast<long long>(longest.count), longest.unit);
}

void print_place(report& out, const source_location& where) noexcept {
    out.print(" at %s:%u, in %s\n", where.file_name(), static_cast<unsigned>(where.line()), where.function_name());
}

}  // namespace

void text_writer::begin(const scheduler& s) noexcept {
    out_.print("weft: runtime \"%s\", %u Ps (%u idle), %u threads (%u idle)\n\n", s.name.c_str(), s.ps.in_use(),
               s.idle.ps.count(), s.thread_count.load(relaxed_count), s.idle.ms.count.load(relaxed_count));
}

// "green thread 7 "acceptor" [chan receive, 3 s, P0, pinned]:"
void text_writer::print_headline(const stack_group& group) noexcept {
    const g_snapshot& g = group.first;
    if (group.count == 1) {
        out_.print("green thread %llu", static_cast<unsigned long long>(g.who.id));
    } else {
        out_.print("%llu green threads", static_cast<unsigned long long>(group.count));
    }
    if (g.who.name[0] != '\0' && group.same_name) out_.print(" \"%s\"", g.who.name);
    out_.print(" [%s", g.state == g_state::waiting ? text(g.reason) : text(g.state));
    const int64_t shortest_ns = since(group.newest_ns);
    const int64_t longest_ns = since(group.oldest_ns);
    const bool has_time = g.state == g_state::waiting || g.state == g_state::runnable;
    if (has_time && longest_ns >= 0 && shortest_ns >= 0) print_range(out_, duration(shortest_ns), duration(longest_ns));
    if (group.count == 1) out_.print(", P%u", static_cast<unsigned>(g.who.last_p));
    if ((g.flags & special::high) != 0) out_.print(", high");
    if ((g.flags & special::low) != 0) out_.print(", low");
    if ((g.flags & special::pinned) != 0) out_.print(", pinned");
    out_.print("]:\n");
}

void text_writer::print_ids(const stack_group& group) noexcept {
    if (group.count == 1) return;
    out_.print("    ids");
    const uint64_t shown = group.count < stack_group::ids_max ? group.count : stack_group::ids_max;
    for (uint64_t i = 0; i < shown; ++i)
        out_.print("%s %llu", i == 0 ? "" : ",", static_cast<unsigned long long>(group.ids[i]));
    if (group.count > shown) out_.print(" and %llu more", static_cast<unsigned long long>(group.count - shown));
    out_.print("\n");
}

// The chain ends with a creator that has ended.
void text_writer::print_creators(const stack_group& group) noexcept {
    const identity& who = group.first.who;
    uint64_t parent = who.parent;
    const source_location* where = &who.where;
    for (int i = 0; i < creators_max; ++i) {
        if (!group.same_parent && i == 0) {
            out_.print("    started by several green threads");
        } else if (parent == 0) {
            out_.print("    %sstarted by a plain thread", i == 0 ? "" : "which was ");
        } else {
            out_.print("    %sstarted by green thread %llu", i == 0 ? "" : "which was ",
                       static_cast<unsigned long long>(parent));
        }
        print_place(out_, *where);
        const family::member* creator = parent == 0 || !group.same_parent ? nullptr : creators_.find(parent);
        if (creator == nullptr) break;
        parent = creator->parent;
        where = &creator->where;
    }
    out_.print("\n");
}

void text_writer::show(const stack_group& group) noexcept {
    const g_snapshot& g = group.first;
    print_headline(group);
    g.print_stack(out_);
    print_ids(group);
    if (g.has_labels && group.same_labels) out_.print("    labels %s\n", g.labels);
    if (!group.same_labels) out_.print("    (different labels)\n");
    out_.entry(g.who.entry);
    print_creators(group);
}

}  // namespace weft::detail
