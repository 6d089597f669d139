// green_threads.cc: see green_threads.h.
#include "observe/outside/green_threads.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace weft::observe::detail {

namespace {

constexpr std::size_t runtimes_max = 1024;
constexpr std::size_t chunks_max = 1 << 20;
constexpr std::size_t ms_max = 1 << 17;
constexpr std::size_t ps_max = 1 << 16;
constexpr std::size_t labels_max = 1024;
constexpr std::size_t label_size_max = 64 * 1024;
constexpr std::size_t smallest_unit = 4096;
constexpr uint64_t m_alignment = 64;  // the bits below are flags of an owner word

// Texts that differ from the name in the source: text() in debug/g_snapshot.cc.
constexpr std::pair<std::string_view, std::string_view> reason_texts[] = {
    {"none", "waiting"},
    {"chan_receive_nil", "chan receive (nil chan)"},
    {"chan_send_nil", "chan send (nil chan)"},
    {"wait_group_wait", "wait group"},
    {"future_get", "future"},
    {"select_no_cases", "select (no cases)"},
    {"once", "call once"},
    {"fd_readable", "I/O read"},
    {"fd_writable", "I/O write"},
    {"select_fd", "select (I/O)"},
    {"file_operation", "file"},
    {"process_end", "process"},
};

std::string text_of_reason(const std::string& name) {
    for (const auto& [in_source, text] : reason_texts) {
        if (in_source == name) return std::string(text);
    }
    std::string text = name;
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

}  // namespace

const seen_m* seen_runtime::runner_of(uint64_t g) const noexcept {
    const auto found = std::find_if(ms.begin(), ms.end(), [g](const seen_m& m) { return m.g == g || m.lent_by == g; });
    return found == ms.end() ? nullptr : &*found;
}

green_threads::green_threads(target_memory& memory, code& program, layout& where)
    : memory_(memory),
      registry_(where.registry()),
      unit_size_(std::max<uint64_t>(smallest_unit, memory.page_size())),
      first_pc_(program.address_of("run_context_entry")) {
    find_fields(where);
    find_figures(where);
    strings_ = where.field_if_any("scheduler", "name._M_string_length").value_or(field_place{});
    buffer_.resize(chunk_size_);
}

void green_threads::find_fields(layout& where) {
    chunk_size_ = where.constant("g_pool", "chunk_size");
    const auto g = [&](const char* path) { return where.field("G", path); };
    g_ = {where.size_of("G"), g("context.sp"), g("context.pc"), g("context.fp"), g("special"), g("last_p"),
          g("state"),         g("reason"),     g("traits"),     g("stack"),      g("id"),      g("parent"),
          g("waiting"),       g("since_ns"),   g("where"),      g("name"),       g("labels")};
    const auto s = [&](const char* path) { return where.field("scheduler", path); };
    scheduler_ = {s("next_registered"), s("name"),           s("is_mains"),   s("gs.chunks_"),
                  s("all_ms"),          s("ps.at_"),         s("ps.in_use_"), s("ps.made_"),
                  s("global.size_"),    s("injected.size_"), s("high.size_"), s("low.size_")};
    chunk_ = {where.field("g_pool::chunk", "next"), where.field("g_pool::chunk", "first_unit")};
    const auto m = [&](const char* path) { return where.field("M", path); };
    m_ = {where.size_of("M"), m("g"), m("lent_by"), m("p"), m("thread_id"), m("all_next")};
    const auto p = [&](const char* path) { return where.field("P", path); };
    p_ = {where.size_of("P"),
          p("owner"),
          p("run_next"),
          p("state"),
          p("index"),
          p("now_ns"),
          p("queue.head_"),
          p("queue.tail_"),
          p("high.size_"),
          p("low.size_"),
          p("count.switches.value_")};
    const auto t = [&](const char* path) { return where.field("stack", path); };
    stack_ = {where.size_of("stack"), t("end"), t("next"), t("continues")};
    const auto e = [&](const char* path) { return where.field("label_block::entry", path); };
    label_ = {where.size_of("label_block"),
              where.size_of("label_block::entry"),
              where.field("label_block", "count"),
              e("key_at"),
              e("key_size"),
              e("value_at"),
              e("value_size")};
    waiter_ = {where.size_of("waiter"), where.field("waiter", "lock"), where.field("waiter", "slot")};
    for (const auto& [name, value] : where.enumerators_of("debugger_bit")) {
        const auto mask = static_cast<uint64_t>(value);
        if (name == "named") bit_.named = mask;
        if (name == "labelled") bit_.labelled = mask;
        if (name == "high") bit_.high = mask;
        if (name == "low") bit_.low = mask;
        if (name == "pinned") bit_.pinned = mask;
    }
    for (const auto& [name, value] : where.enumerators_of("g_state")) {
        states_[value] = name == "runnable"                 ? seen_state::runnable
                         : name == "running"                ? seen_state::running
                         : name == "in_call"                ? seen_state::in_call
                         : name == "waiting"                ? seen_state::waiting
                         : name == "idle" || name == "dead" ? seen_state::unused
                                                            : seen_state::unknown;
    }
    for (const auto& [name, value] : where.enumerators_of("wait_reason")) {
        reasons_[value] = text_of_reason(name);
        waits_for_slot_[value] = name == "mutex_lock" || name.substr(0, 17) == "shared_mutex_lock";
    }
    for (const auto& [name, value] : where.enumerators_of("p_state")) {
        if (name == "idle") p_idle_ = value;
    }
}

// Another version of weft may lack some of them.
void green_threads::find_figures(layout& where) {
    constexpr std::pair<const char*, const char*> of_p[] = {{"spawned", "count.spawned.value_"},
                                                            {"finished", "count.finished.value_"},
                                                            {"parks", "count.parks.value_"},
                                                            {"steals", "count.steals.value_"},
                                                            {"steal_rounds", "count.steal_rounds.value_"},
                                                            {"global_gets", "count.global_gets.value_"},
                                                            {"overflows", "count.overflows.value_"},
                                                            {"timers_fired", "count.timers_fired.value_"},
                                                            {"preemptions", "count.preemptions.value_"},
                                                            {"preempted", "count.preempted.value_"},
                                                            {"interrupted", "count.interrupted.value_"}};
    constexpr std::pair<const char*, const char*> of_scheduler[] = {{"spawned", "external_spawns"},
                                                                    {"finished", "external_ends"},
                                                                    {"parks", "external_parks"},
                                                                    {"wakes", "wakes"},
                                                                    {"hand_offs", "hand_offs"},
                                                                    {"threads_idle", "idle.ms.count"},
                                                                    {"threads_spinning", "idle.spinning"},
                                                                    {"retakes_blocked", "sysmon.count.retakes_blocked"},
                                                                    {"retakes_burning", "sysmon.count.retakes_burning"},
                                                                    {"retakes_in_call", "sysmon.count.retakes_in_call"},
                                                                    {"monitor_looks", "sysmon.count.scans"},
                                                                    {"monitor_late", "sysmon.count.late"},
                                                                    {"thread_shortages", "no_thread"}};
    const auto find = [&](const char* type, const auto& wanted, std::vector<figure>& into) {
        for (const auto& [name, path] : wanted) {
            const std::optional<field_place> place = where.field_if_any(type, path);
            if (place) into.push_back({name, *place});
        }
    };
    find("P", of_p, of_ps_);
    find("scheduler", of_scheduler, of_scheduler_);
    latency_ = where.field_if_any("P", "latency").value_or(field_place{});
    if (latency_.size != latency_histogram::buckets * sizeof(uint64_t)) latency_ = {};
}

void green_threads::read_figures(seen_runtime& of) {
    uint64_t first = 0;
    uint32_t count = 0;
    static_cast<void>(memory_.get(of.address + scheduler_.ps_at.offset, first));
    static_cast<void>(memory_.get(of.address + scheduler_.ps_made.offset, count));
    std::vector<std::byte> p(p_.size);
    for (uint32_t i = 0; i < count && i < ps_max; ++i) {  // those that are no longer in use, too
        if (memory_.read(first + uint64_t{i} * p_.size, p.data(), p.size()) != p.size()) break;
        for (const figure& f : of_ps_) of.figures[f.name] += f.place.in(p.data());
        if (latency_.size == 0) continue;
        for (std::size_t b = 0; b < latency_histogram::buckets; ++b) {
            of.latency.counts[b] += field_place{latency_.offset + b * sizeof(uint64_t), sizeof(uint64_t)}.in(p.data());
        }
    }
    for (const figure& f : of_scheduler_) {
        uint64_t value = 0;
        const std::size_t size = std::min(f.place.size, sizeof(value));
        if (memory_.read(of.address + f.place.offset, &value, size) == size) of.figures[f.name] += value;
    }
}

seen_g green_threads::parse(const std::byte* g, uint64_t address) const {
    seen_g seen;
    const auto found = states_.find(static_cast<int64_t>(g_.state.in(g)));
    seen.state = found == states_.end() ? seen_state::unknown : found->second;
    seen.address = address;
    if (seen.state == seen_state::unused) return seen;
    seen.sp = g_.sp.in(g);
    seen.pc = g_.pc.in(g);
    seen.fp = g_.fp.in(g);
    seen.stack = g_.stack.in(g);
    seen.id = g_.id.in(g);
    seen.parent = g_.parent.in(g);
    seen.waiting = g_.waiting.in(g);
    seen.where = g_.where.in(g);
    seen.since_ns = static_cast<int64_t>(g_.since_ns.in(g));
    seen.last_p = static_cast<uint16_t>(g_.last_p.in(g));
    seen.reason = static_cast<uint8_t>(g_.reason.in(g));
    seen.never_ran = seen.sp == 0 || (first_pc_ != 0 && seen.pc == first_pc_);
    const uint64_t special = g_.special.in(g);
    seen.is_high = (special & bit_.high) != 0;
    seen.is_low = (special & bit_.low) != 0;
    seen.is_pinned = (special & bit_.pinned) != 0;
    const uint64_t traits = g_.traits.in(g);
    seen.labels = (traits & bit_.labelled) != 0 ? g_.labels.in(g) : 0;
    if ((traits & bit_.named) != 0) {
        std::memcpy(seen.name, g + g_.name.offset, std::min(g_.name.size, sizeof(seen.name) - 1));
    }
    return seen;
}

// A std::string of libstdc++ (the address of the text, its size), or of libc++: the size times two
// and the text, or a capacity with the lowest bit set, the size, and the address of the text.
std::string green_threads::string_at(uint64_t address) {
    uint64_t words[3] = {};
    constexpr std::size_t most = 256;
    if (!memory_.get(address, words)) return "";
    const bool is_long = (words[0] & 1) != 0;
    const uint64_t size = strings_.size != 0 ? words[1] : is_long ? words[1] : (words[0] & 0xff) / 2;
    const uint64_t from = strings_.size != 0 ? words[0] : is_long ? words[2] : address + 1;
    if (size > most) return "";
    std::string text(size, '\0');
    text.resize(memory_.read(from, text.data(), text.size()));
    return text;
}

std::vector<seen_runtime> green_threads::runtimes() {
    std::vector<seen_runtime> all;
    std::vector<bool> is_mains;
    uint64_t at = 0;
    if (!memory_.get(registry_, at)) {
        throw std::runtime_error(
            "weft: the list of runtimes cannot be read; was the program replaced since it started?");
    }
    while (at != 0 && all.size() < runtimes_max) {
        seen_runtime one;
        one.address = at;
        one.name = string_at(at + scheduler_.name.offset);
        uint8_t main = 0;
        uint64_t next = 0;
        uint32_t size = 0;
        static_cast<void>(memory_.get(at + scheduler_.is_mains.offset, main));
        if (!memory_.get(at + scheduler_.next.offset, next)) break;
        for (const field_place& queue : {scheduler_.global, scheduler_.injected, scheduler_.high, scheduler_.low}) {
            if (memory_.get(at + queue.offset, size)) one.queued_global += size;
        }
        read_ms(one);
        read_ps(one);
        read_figures(one);
        is_mains.push_back(main != 0);
        all.push_back(std::move(one));
        at = next;
    }
    // The list begins with the newest.
    std::reverse(all.begin(), all.end());
    std::reverse(is_mains.begin(), is_mains.end());
    const auto found = std::find(is_mains.begin(), is_mains.end(), true);
    const auto mains = all.begin() + (found - is_mains.begin());
    if (mains != all.end()) std::rotate(all.begin(), mains, mains + 1);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].number = static_cast<unsigned>(i + 1);
    return all;
}

void green_threads::read_ms(seen_runtime& of) {
    std::vector<std::byte> m(m_.size);
    uint64_t at = 0;
    static_cast<void>(memory_.get(of.address + scheduler_.all_ms.offset, at));
    while (at != 0 && of.ms.size() < ms_max) {
        if (memory_.read(at, m.data(), m.size()) != m.size()) return;
        seen_m one;
        one.address = at;
        one.tid = static_cast<pid_t>(m_.tid.in(m.data()));
        one.g = m_.g.in(m.data());
        one.lent_by = m_.lent_by.in(m.data());
        const uint64_t p = m_.p.in(m.data());
        std::vector<std::byte> its(p_.size);
        if (p != 0 && memory_.read(p, its.data(), its.size()) == its.size()) {
            one.p = static_cast<uint32_t>(p_.index.in(its.data()));
            one.has_p = (p_.owner.in(its.data()) & ~(m_alignment - 1)) == at;
        }
        of.ms.push_back(one);
        at = m_.all_next.in(m.data());
    }
}

void green_threads::read_ps(seen_runtime& of) {
    uint64_t first = 0;
    uint32_t count = 0;
    static_cast<void>(memory_.get(of.address + scheduler_.ps_at.offset, first));
    static_cast<void>(memory_.get(of.address + scheduler_.ps_in_use.offset, count));
    std::vector<std::byte> p(p_.size);
    for (uint32_t i = 0; i < count && i < ps_max; ++i) {
        seen_p one;
        one.address = first + uint64_t{i} * p_.size;
        if (memory_.read(one.address, p.data(), p.size()) != p.size()) return;
        one.index = static_cast<uint32_t>(p_.index.in(p.data()));
        one.is_idle = static_cast<int64_t>(p_.state.in(p.data())) == p_idle_;
        one.owner = p_.owner.in(p.data()) & ~(m_alignment - 1);
        one.now_ns = static_cast<int64_t>(p_.now_ns.in(p.data()));
        one.switches = p_.switches.in(p.data());
        const auto ring = static_cast<uint32_t>(p_.tail.in(p.data())) - static_cast<uint32_t>(p_.head.in(p.data()));
        one.queued = ring + p_.high.in(p.data()) + p_.low.in(p.data()) + (p_.run_next.in(p.data()) != 0 ? 1U : 0U);
        of.ps.push_back(one);
    }
}

void green_threads::for_each_chunk(const seen_runtime& of, const std::function<void(std::vector<seen_g>&)>& each) {
    uint64_t chunk = 0;
    static_cast<void>(memory_.get(of.address + scheduler_.chunks.offset, chunk));
    std::vector<seen_g> gs;
    for (std::size_t n = 0; chunk != 0 && n < chunks_max; ++n) {
        uint32_t first_unit = 0;
        uint64_t next = 0;
        if (!memory_.get(chunk + chunk_.first_unit.offset, first_unit) ||
            !memory_.get(chunk + chunk_.next.offset, next))
            return;
        gs.clear();
        for (uint64_t done = first_unit * unit_size_; done < chunk_size_;) {
            const uint64_t wanted = chunk_size_ - done;
            const std::size_t got = memory_.read(chunk + done, buffer_.data(), wanted);
            for (uint64_t at = 0; at + g_.size <= got; at += g_.size) {
                seen_g g = parse(buffer_.data() + at, chunk + done + at);
                if (g.state != seen_state::unused) gs.push_back(g);
            }
            done += got == wanted ? got : (got / unit_size_ + 1) * unit_size_;  // a page that cannot be read
        }
        if (!gs.empty()) each(gs);
        chunk = next;
    }
}

seen_g green_threads::read(uint64_t address) {
    std::vector<std::byte> g(g_.size);
    if (memory_.read(address, g.data(), g.size()) != g.size()) return {};
    return parse(g.data(), address);
}

void green_threads::read_again(std::vector<seen_g>& into) {
    std::vector<std::byte> all(into.size() * g_.size);
    std::vector<target_memory::piece> pieces;  // each of Gs that are neighbours: a read takes time for each piece
    for (std::size_t i = 0; i < into.size(); ++i) {
        const bool is_neighbour = i != 0 && into[i].address == into[i - 1].address + g_.size;
        if (is_neighbour) {
            pieces.back().size += g_.size;
        } else {
            pieces.push_back({into[i].address, &all[i * g_.size], g_.size});
        }
    }
    memory_.read_each(pieces);
    std::size_t i = 0;
    for (const target_memory::piece& p : pieces) {
        for (std::size_t at = 0; at < p.size; at += g_.size, ++i) {
            const uint64_t address = into[i].address;
            into[i] = at + g_.size <= p.done ? parse(&all[i * g_.size], address) : seen_g{};
            into[i].address = address;
        }
    }
}

const char* green_threads::text(seen_state state) noexcept {
    switch (state) {
        case seen_state::unused:
            return "dead";
        case seen_state::runnable:
            return "runnable";
        case seen_state::running:
            return "running";
        case seen_state::in_call:
            return "in call";
        case seen_state::waiting:
            return "waiting";
        case seen_state::unknown:
            break;
    }
    return "?";
}

const std::string& green_threads::doing(const seen_g& g) const {
    static const std::string states[] = {text(seen_state::unused),  text(seen_state::runnable),
                                         text(seen_state::running), text(seen_state::in_call),
                                         text(seen_state::waiting), text(seen_state::unknown)};
    if (g.state != seen_state::waiting) return states[static_cast<std::size_t>(g.state)];
    const auto found = reasons_.find(g.reason);
    return found == reasons_.end() ? states[static_cast<std::size_t>(seen_state::unknown)] : found->second;
}

std::vector<std::pair<std::string, std::string>> green_threads::label_pairs_of(const seen_g& g) {
    std::vector<std::pair<std::string, std::string>> pairs;
    std::vector<std::byte> block(label_.size);
    if (g.labels == 0 || memory_.read(g.labels, block.data(), block.size()) != block.size()) return pairs;
    const std::size_t count = std::min<std::size_t>(label_.count.in(block.data()), labels_max);
    std::vector<std::byte> entries(count * label_.entry_size);
    if (memory_.read(g.labels + label_.size, entries.data(), entries.size()) != entries.size()) return pairs;
    const uint64_t text = g.labels + label_.size + entries.size();
    const auto part = [&](uint64_t at, uint64_t size) {
        std::string s(std::min<uint64_t>(size, label_size_max), '\0');
        s.resize(memory_.read(text + at, s.data(), s.size()));
        return s;
    };
    for (std::size_t i = 0; i < count; ++i) {
        const std::byte* e = &entries[i * label_.entry_size];
        pairs.emplace_back(part(label_.key_at.in(e), label_.key_size.in(e)),
                           part(label_.value_at.in(e), label_.value_size.in(e)));
    }
    return pairs;
}

const std::string& green_threads::labels_of(const seen_g& g) {
    const auto [entry, is_new] = labels_.try_emplace(g.labels);
    if (is_new) {
        for (const auto& [key, value] : label_pairs_of(g)) {
            if (!entry->second.empty()) entry->second += ", ";
            ((entry->second += key) += '=') += value;
        }
    }
    return entry->second;
}

const seen_place& green_threads::place_of(const seen_g& g) {
    const auto [entry, is_new] = places_.try_emplace(g.where);

    struct {
        uint64_t file;
        uint64_t function;
        uint32_t line;
    } written{};  // as compilers write std::source_location

    if (is_new && g.where != 0 && memory_.get(g.where, written)) {
        entry->second = {memory_.text(written.file), memory_.text(written.function), written.line};
    }
    return entry->second;
}

std::vector<uint64_t> green_threads::objects_of(const std::vector<seen_g>& all) {
    std::vector<std::byte> waiters(all.size() * waiter_.size);
    std::vector<target_memory::piece> pieces;
    pieces.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        pieces.push_back({all[i].waiting, &waiters[i * waiter_.size], waiter_.size});
    memory_.read_each(pieces);
    std::vector<uint64_t> objects(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (pieces[i].done != waiter_.size) continue;
        const auto found = waits_for_slot_.find(all[i].reason);
        const bool is_slot = found != waits_for_slot_.end() && found->second;
        objects[i] = (is_slot ? waiter_.slot : waiter_.lock).in(&waiters[i * waiter_.size]);
    }
    return objects;
}

green_threads::stack_end green_threads::end_of(uint64_t stack) {
    constexpr uint64_t record = 2 * sizeof(uint64_t);
    std::vector<std::byte> s(stack_.size);
    if (memory_.read(stack, s.data(), s.size()) != s.size()) return {stack - record, 0};
    const uint64_t end = stack_.end.in(s.data());  // of an OS thread's stack; others end at the record
    return {(end != 0 ? end : stack) - record, stack_.continues.in(s.data()) != 0 ? stack_.next.in(s.data()) : 0};
}

int64_t green_threads::now_ns(const std::vector<seen_runtime>& all) const {
    int64_t now_ns = memory_.now_ns();
    if (now_ns != 0) return now_ns;
    for (const seen_runtime& one : all) {
        for (const seen_p& p : one.ps) now_ns = std::max(now_ns, p.now_ns);
    }
    return now_ns;
}

}  // namespace weft::observe::detail
