// text_lines.cc: a recording as one line for each event.
#include <cstdio>
#include <string>

#include "debug/g_snapshot.h"
#include "observe/exporters.h"
#include "observe/history.h"
#include "observe/output.h"
#include "observe/timeline.h"

namespace weft::observe::detail {

namespace {

using weft::detail::event_kind;

const char* name_of(life l) noexcept {
    switch (l) {
        case life::runnable:
            return "is runnable";
        case life::running:
            return "runs";
        case life::waiting:
            return "waits";
        case life::in_call:
            return "begins a blocking call";
        case life::ended:
            return "ends";
        case life::unknown:
            return "?";
    }
    return "?";
}

class line_writer final : public teller {
public:
    line_writer(const recorded& r, output& to, int64_t from_ns, int64_t to_ns)
        : r_(r), to_(to), from_ns_(from_ns), to_ns_(to_ns) {}

    void write() {
        replay(r_, *this);
        to_.append(text_);
    }

    void changes(const change& c) override {
        if (c.after == life::ended && c.ns == r_.ended_ns) return;  // the end of the recording, not of the G
        std::string line = title_of(r_, c.before) + " " + name_of(c.after);
        if (c.after == life::running && c.p != no_p) line += " on P" + std::to_string(c.p);
        if (c.after == life::waiting) {
            line += std::string(": ") + weft::detail::text(static_cast<weft::detail::wait_reason>(c.reason));
        }
        if (c.before.now != life::unknown && !c.before.is_assumed) {
            line += std::string(", after ") + std::to_string(c.ns - c.before.since_ns) + " ns";
        }
        if (c.before.now == life::waiting && c.before.stack != 0)
            line += ", waited in " + stack_in_one_line(r_, c.before.stack);
        add(c.ns, c.thread, line);
    }

    void moves(int64_t ns, const track& g, uint32_t /*from_p*/, uint32_t to_p) override {
        const std::string where = to_p == no_p ? " runs on, without a P" : " runs on P" + std::to_string(to_p);
        add(ns, g.thread, title_of(r_, g) + where);
    }

    void wakes(const wake_up& w) override {
        const std::string who = w.waker != nullptr ? title_of(r_, *w.waker)
                                : w.plain_tid != 0 ? "thread " + std::to_string(w.plain_tid)
                                                   : "the runtime";
        add(w.ns, w.thread, who + " wakes " + title_of(r_, w.woken));
    }

    void relabels(int64_t ns, const track& g, uint32_t labels, uint32_t thread) override {
        const std::string now = labels_text(r_, labels);
        add(ns, thread, title_of(r_, g) + (now.empty() ? " has no labels" : " has the labels " + now));
    }

    void begin_region(int64_t ns, const track& g, const char* name) override {
        add(ns, g.thread, title_of(r_, g) + " begins region " + name);
    }

    void end_region(int64_t ns, const track& g) override { add(ns, g.thread, title_of(r_, g) + " ends a region"); }

    void counter(int64_t ns, uint32_t thread, const char* name, double value) override {
        char number[40];
        std::snprintf(number, sizeof(number), "%g", value);
        add(ns, thread, std::string("counter ") + name + " is " + number);
    }

    void log(int64_t ns, const track* g, uint32_t thread, const std::string& text) override {
        add(ns, thread, (g != nullptr ? title_of(r_, *g) + ": " : std::string()) + text);
    }

    void thread_event(const step& s) override {
        const std::string n = std::to_string(s.id);
        const std::string p = "P" + std::to_string(s.argument);
        switch (s.kind) {
            case event_kind::p_taken:
                return add(s.ns, s.thread, "takes " + p);
            case event_kind::p_given:
                return add(s.ns, s.thread,
                           s.detail == static_cast<uint8_t>(weft::detail::event_loss::retaken)
                               ? p + " is retaken from M" + n
                               : "gives " + p + " up");
            case event_kind::steal:
                return add(s.ns, s.thread, "steals " + n + " from " + p);
            case event_kind::poll:
                return add(s.ns, s.thread, "polls: " + n + " ready");
            case event_kind::timers:
                return add(s.ns, s.thread, n + " timers have fired");
            case event_kind::sleep:
                return add(s.ns, s.thread, "sleeps");
            case event_kind::cpu_delay:
                return add(s.ns, s.thread, "M" + n + " has waited " + std::to_string(s.argument) + " ns for a CPU");
            default:
                return;
        }
    }

private:
    void add(int64_t ns, uint32_t thread, const std::string& what) {
        const int64_t after_ns = ns - r_.began_ns;
        if (after_ns < from_ns_ || after_ns > to_ns_) return;
        char begin[64];
        const recorded_ring& t = r_.threads[thread];
        const char* form = t.is_outside ? "%14.3f us  other   " : "%14.3f us  M%-5u  ";
        std::snprintf(begin, sizeof(begin), form, static_cast<double>(after_ns) / 1e3, t.m);
        text_ += begin + printable(what) + "\n";
        if (text_.size() < output::piece) return;
        to_.append(text_);
        text_.clear();
    }

    const recorded& r_;
    output& to_;
    int64_t from_ns_;
    int64_t to_ns_;
    std::string text_;
};

}  // namespace

void write_text(const recorded& r, const std::string& path, int64_t from_ns, int64_t to_ns) {
    output to(path);
    line_writer(r, to, from_ns, to_ns).write();
    to.close();
}

}  // namespace weft::observe::detail
