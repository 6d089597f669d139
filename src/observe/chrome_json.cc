// chrome_json.cc: a recording in the JSON format of Chrome's trace viewer.
//
// Processors are the threads of process 1, green threads those of process 2, and their regions
// those of process 3. Times are in microseconds.
#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "debug/g_snapshot.h"
#include "observe/exporters.h"
#include "observe/json.h"
#include "observe/output.h"
#include "observe/timeline.h"

namespace weft::observe::detail {

namespace {

constexpr int processors_id = 1;
constexpr int green_threads_id = 2;
constexpr int regions = 3;

// Microseconds, in any locale.
std::string microseconds(int64_t ns) {
    std::string digits = std::to_string(ns % 1000);
    digits.insert(0, 3 - digits.size(), '0');
    return std::to_string(ns / 1000) + "." + digits;
}

class json_writer final : public teller {
public:
    json_writer(const recorded& r, output& to) : r_(r), to_(to) {}

    void write() {
        text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
        name_process(processors_id, "Processors of " + r_.program);
        name_process(green_threads_id, "Green threads of " + r_.program);
        name_process(regions, "Regions");
        replay(r_, *this);
        if (text_.ends_with(",\n")) text_.resize(text_.size() - 2);
        text_ += "\n]}\n";
        to_.append(text_);
    }

    void changes(const change& c) override {
        const track& g = c.before;
        name_thread(g);
        if (g.now != life::unknown && !g.is_assumed && c.ns > g.since_ns) {
            slice(green_threads_id, g.id, g.since_ns, c.ns, name_of(g), g.stack);
            if (g.now == life::running) run_until(c.ns, g, g.p);
        }
        if (c.after == life::running) on_p_since_[g.id] = c.ns;
        if (c.after == life::running && begun_.erase(g.flow) != 0) flow("f", c.ns, g.id, g.flow);
    }

    void moves(int64_t ns, const track& g, uint32_t from_p, uint32_t /*to_p*/) override {
        run_until(ns, g, from_p);
        on_p_since_[g.id] = ns;
    }

    void wakes(const wake_up& w) override {
        if (w.waker == nullptr) return;
        begun_.insert(w.flow);
        flow("s", w.ns, w.waker->id, w.flow);
    }

    void relabels(int64_t ns, const track& g, uint32_t labels, uint32_t thread) override {
        log(ns, &g, thread, "labels " + labels_text(r_, labels));
    }

    void begin_region(int64_t ns, const track& g, const char* name) override {
        add(ns, "B", regions, g.id, ",\"name\":" + quoted(name));
    }

    void end_region(int64_t ns, const track& g) override { add(ns, "E", regions, g.id, ""); }

    void counter(int64_t ns, uint32_t /*thread*/, const char* name, double value) override {
        if (!std::isfinite(value)) return;  // there is no such number in JSON
        char number[40];
        const auto end = std::to_chars(std::begin(number), std::end(number), value);
        add(ns, "C", processors_id, 0,
            ",\"name\":" + quoted(name) + ",\"args\":{\"value\":" + std::string(std::begin(number), end.ptr) + "}");
    }

    void log(int64_t ns, const track* g, uint32_t /*thread*/, const std::string& text) override {
        add(ns, "i", green_threads_id, g == nullptr ? 0 : g->id, ",\"s\":\"t\",\"name\":" + quoted(text));
    }

    void thread_event(const step& /*s*/) override {}

private:
    static std::string name_of(const track& g) {
        switch (g.now) {
            case life::running:
                return "running";
            case life::runnable:
                return "runnable";
            case life::in_call:
                return "blocking call";
            default:
                return weft::detail::text(static_cast<weft::detail::wait_reason>(g.reason));
        }
    }

    void name_process(int pid, const std::string& name) {
        append("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + std::to_string(pid) +
               ",\"args\":{\"name\":" + quoted(name) + "}}");
    }

    void name_thread(const track& g) {
        if (!named_.insert(g.id).second) return;
        append("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":2,\"tid\":" + std::to_string(g.id) +
               ",\"args\":{\"name\":" + quoted(title_of(r_, g)) + "}}");
    }

    std::string time_of(int64_t ns) const { return microseconds(ns - r_.began_ns); }

    // g has run on p since on_p_since_.
    void run_until(int64_t ns, const track& g, uint32_t p) {
        const auto since = on_p_since_.find(g.id);
        if (p != no_p && since != on_p_since_.end()) slice(processors_id, p, since->second, ns, title_of(r_, g));
    }

    // stack: 0, or where it waited.
    void slice(int pid, uint64_t tid, int64_t from_ns, int64_t to_ns, const std::string& name, uint32_t stack = 0) {
        const std::string more = stack == 0 ? "" : ",\"args\":{\"stack\":" + quoted(r_.texts[stack]) + "}";
        add(from_ns, "X", pid, tid, ",\"dur\":" + microseconds(to_ns - from_ns) + ",\"name\":" + quoted(name) + more);
    }

    void flow(const char* phase, int64_t ns, uint64_t tid, uint64_t id) {
        const char* binds = *phase == 'f' ? ",\"bp\":\"e\"" : "";
        add(ns, phase, green_threads_id, tid,
            ",\"name\":\"wake\",\"cat\":\"wake\",\"id\":" + std::to_string(id) + binds);
    }

    void add(int64_t ns, const char* phase, int pid, uint64_t tid, const std::string& more) {
        append(std::string("{\"ph\":\"") + phase + "\",\"ts\":" + time_of(ns) + ",\"pid\":" + std::to_string(pid) +
               ",\"tid\":" + std::to_string(tid) + more + "}");
    }

    void append(const std::string& event) {
        (text_ += event) += ",\n";
        if (text_.size() < output::piece) return;
        const std::string_view whole = std::string_view(text_).substr(0, text_.size() - 2);
        to_.append(whole);  // the comma stays, and is removed at the end
        text_.erase(0, whole.size());
    }

    const recorded& r_;
    output& to_;
    std::string text_;
    std::unordered_set<uint64_t> named_;
    std::unordered_set<uint64_t> begun_;                // flows
    std::unordered_map<uint64_t, int64_t> on_p_since_;  // running Gs
};

}  // namespace

void write_chrome_json(const recorded& r, const std::string& path) {
    output to(path);
    json_writer(r, to).write();
    to.close();
}

}  // namespace weft::observe::detail
