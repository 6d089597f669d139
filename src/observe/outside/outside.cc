// outside.cc: see weft/observe/outside.h.
//
// The files of the process and their debug information are read once. Libraries that it loads later
// are not known: make another object.
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <weft/observe/outside.h>

#include "observe/json.h"
#include "observe/outside/code.h"
#include "observe/outside/frames_text.h"
#include "observe/outside/green_threads.h"
#include "observe/outside/groups.h"
#include "observe/outside/layout.h"
#include "observe/outside/memory.h"
#include "observe/outside/stacks.h"
#include "observe/outside/state_from_outside.h"

namespace weft::observe {

using namespace detail;

namespace {

std::unique_ptr<target_memory> open_target(const std::string& target, const std::string& program) {
    char* end = nullptr;
    const long pid = std::strtol(target.c_str(), &end, 10);
    const bool is_number = !target.empty() && *end == '\0';
    if (is_number && ::access(target.c_str(), F_OK) != 0) {
        if (pid <= 0 || pid > 1 << 30) throw std::runtime_error("weft: " + target + " is not the number of a process");
        return open_process(static_cast<pid_t>(pid));
    }
    return open_core(target, program);
}

struct duration {
    int64_t count;
    const char* unit;

    explicit duration(int64_t ns) noexcept : count(std::max<int64_t>(0, ns) / 1'000'000), unit("ms") {
        if (count >= 60'000) {
            count /= 60'000;
            unit = "minutes";
        } else if (count >= 1'000) {
            count /= 1'000;
            unit = "s";
        }
    }

    [[nodiscard]] std::string text() const { return std::to_string(count) + " " + unit; }
};

std::string plural(uint64_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// One answer: the debug information is kept, what was read of the process is not.
class answer {
public:
    answer(target_memory& memory, code& program, layout& where, const outside_options& options)
        : memory_(memory),
          code_(program),
          gs_(memory, program, where),
          stacks_(memory, program, gs_),
          options_(options) {
        all_ = gs_.runtimes();
        now_ns_ = gs_.now_ns(all_);
    }

    std::string text() {
        std::string out = memory_.program() + ", " + (memory_.is_core() ? "core file of process " : "process ") +
                          std::to_string(memory_.pid());
        if (!memory_.is_core()) out += ", " + memory_.condition();
        out += all_.empty() ? ": no runtime of weft has been started, or all have ended\n" : "\n";
        for (const seen_runtime& one : all_) {
            if (!options_.grouped || one.number == 1) out += '\n';
            if (options_.grouped) {
                add_groups(out, one);
            } else {
                add_lines(out, one);
            }
        }
        return out;
    }

    std::string json() {
        json_text j;
        j.open('{').member("format", "weft.ps/1").member("program", memory_.program()).member("pid", memory_.pid());
        j.member("condition", memory_.condition()).key("runtimes").open('[');
        for (const seen_runtime& one : all_) {
            const std::vector<g_group> groups = groups_in(one);
            j.open('{').member("number", one.number).member("runtime", one.name);
            j.member("procs", one.ps.size()).member("procs_idle", idle_ps(one)).member("threads", threads_of(one));
            j.member("green_threads", members_of(groups)).key("groups").open('[');
            for (const g_group& g : groups) add_group(j, g);
            j.close(']').close('}');
        }
        j.close(']').close('}');
        return std::move(j).take() + "\n";
    }

private:
    [[nodiscard]] bool is_filtered() const noexcept {
        return !options_.state.empty() || !options_.label.empty() || !options_.name.empty() ||
               !options_.started_at.empty();
    }

    [[nodiscard]] std::function<bool(const seen_g&)> filter() {
        if (!is_filtered()) return nullptr;
        return [this](const seen_g& g) { return passes(g); };
    }

    [[nodiscard]] bool passes(const seen_g& g) {
        if (!options_.state.empty() && options_.state != gs_.doing(g) && options_.state != green_threads::text(g.state))
            return false;
        if (!options_.name.empty() && ::fnmatch(options_.name.c_str(), g.name, 0) != 0) return false;
        return (options_.started_at.empty() || is_started_at(g)) && (options_.label.empty() || has_label(g));
    }

    [[nodiscard]] bool is_started_at(const seen_g& g) {
        const seen_place& place = gs_.place_of(g);
        const std::string whole = place.file + ":" + std::to_string(place.line);
        const auto ends = [&](const std::string& text) {
            if (!text.ends_with(options_.started_at)) return false;
            const std::size_t before = text.size() - options_.started_at.size();
            return before == 0 || text[before - 1] == '/';
        };
        return ends(whole) || ends(place.file);
    }

    [[nodiscard]] bool has_label(const seen_g& g) {
        const auto [entry, is_new] = has_label_.try_emplace(g.labels, false);
        if (is_new) {
            const std::size_t equals = options_.label.find('=');
            for (const auto& [key, value] : gs_.label_pairs_of(g)) {
                const bool has_value = equals == std::string::npos || options_.label.substr(equals + 1) == value;
                entry->second = entry->second || (options_.label.substr(0, equals) == key && has_value);
            }
        }
        return entry->second;
    }

    static std::size_t idle_ps(const seen_runtime& of) {
        return static_cast<std::size_t>(
            std::count_if(of.ps.begin(), of.ps.end(), [](const seen_p& p) { return p.is_idle; }));
    }

    static std::size_t threads_of(const seen_runtime& of) {
        return static_cast<std::size_t>(
            std::count_if(of.ms.begin(), of.ms.end(), [](const seen_m& m) { return m.tid != 0; }));
    }

    static uint64_t members_of(const std::vector<g_group>& groups) {
        uint64_t sum = 0;
        for (const g_group& g : groups) sum += g.count;
        return sum;
    }

    // Groups whose frames differ only inside the library have the same text, and are joined.
    std::vector<g_group> groups_in(const seen_runtime& of) {
        std::vector<g_group> found = groups_of(of, memory_, gs_, stacks_, filter(), options_.grouped);
        if (!options_.grouped) return found;
        std::map<std::string, std::size_t> by_text;
        std::vector<g_group> joined;
        for (g_group& g : found) {
            if (g.on != nullptr) {
                joined.push_back(std::move(g));
                continue;
            }
            const std::string text = headline_end(g) + std::to_string(g.first.where) + stack_text(g);
            const auto [entry, is_new] = by_text.try_emplace(text, joined.size());
            if (is_new) {
                joined.push_back(std::move(g));
            } else {
                joined[entry->second].join(g, gs_);
            }
        }
        std::sort(joined.begin(), joined.end(), [](const g_group& a, const g_group& b) {
            return a.count != b.count ? a.count > b.count : a.first.id < b.first.id;
        });
        return joined;
    }

    void add_head(std::string& out, const seen_runtime& of, uint64_t count) const {
        out += "runtime " + std::to_string(of.number) + " \"" + of.name + "\": " + plural(count, "green thread");
        if (is_filtered()) out += " of those asked for";
        out += ", " + plural(of.ps.size(), "P") + " (" + std::to_string(idle_ps(of)) + " idle), " +
               plural(threads_of(of), "thread");
    }

    void add_groups(std::string& out, const seen_runtime& of) {
        const std::vector<g_group> groups = groups_in(of);
        add_head(out, of, members_of(groups));
        out += ", in " + plural(groups.size(), "group") + "\n\n";
        const std::size_t shown =
            options_.groups_max == 0 ? groups.size() : std::min(groups.size(), options_.groups_max);
        for (std::size_t i = 0; i < shown; ++i) out += text_of(groups[i]);
        if (shown == groups.size()) return;
        const uint64_t rest = members_of({groups.begin() + static_cast<std::ptrdiff_t>(shown), groups.end()});
        out += plural(groups.size() - shown, "more group") + " with " + plural(rest, "green thread") +
               "; to see them: --groups 0\n";
    }

    [[nodiscard]] bool has_time(const g_group& g) const noexcept {
        return (g.first.state == seen_state::waiting || g.first.state == seen_state::runnable) && g.oldest_ns != 0;
    }

    // "chan receive": what follows does not belong to a group's identity.
    [[nodiscard]] std::string headline_end(const g_group& g) const {
        std::string text = gs_.doing(g.first);
        if (g.first.is_high) text += ", high";
        if (g.first.is_low) text += ", low";
        if (g.first.is_pinned) text += ", pinned";
        return text;
    }

    std::string text_of(const g_group& g) {
        std::string out = g.count == 1 ? "green thread " + std::to_string(g.first.id) : plural(g.count, "green thread");
        if (g.same_name && g.first.name[0] != '\0') out += std::string(" \"") + g.first.name + "\"";
        out += " [" + gs_.doing(g.first);
        if (has_time(g)) {
            const duration longest(now_ns_ - g.oldest_ns);
            const duration shortest(now_ns_ - g.newest_ns);
            const bool is_range = longest.text() != shortest.text();
            out += ", " + (is_range ? shortest.text() + " to " : "") + longest.text();
        }
        if (g.count == 1) out += ", P" + std::to_string(g.first.last_p);
        out += headline_end(g).substr(gs_.doing(g.first).size()) + "]:\n" + stack_text(g);
        if (g.count > 1) {
            out += "    ids";
            for (std::size_t i = 0; i < g.ids.size(); ++i) out += (i == 0 ? " " : ", ") + std::to_string(g.ids[i]);
            if (g.count > g.ids.size()) out += " and " + std::to_string(g.count - g.ids.size()) + " more";
            out += '\n';
        }
        if (!g.same_labels) {
            out += "    (different labels)\n";
        } else if (g.first.labels != 0) {
            out += "    labels " + gs_.labels_of(g.first) + "\n";
        }
        const seen_place& place = gs_.place_of(g.first);
        out += "    started by ";
        out += !g.same_parent        ? "several green threads"
               : g.first.parent == 0 ? "a plain thread"
                                     : "green thread " + std::to_string(g.first.parent);
        out += " at " + place.file + ":" + std::to_string(place.line) + ", in " + place.function + "\n\n";
        return out;
    }

    [[nodiscard]] std::string stack_text(const g_group& g) {
        if (g.first.never_ran && g.first.state != seen_state::running) return "    (not started)\n";
        std::string out;
        if (g.on != nullptr) {
            out = std::string("    (") + (g.first.state == seen_state::running ? "running" : "in a call") +
                  " on thread " + std::to_string(g.on->tid) + ", " + (g.on->has_p ? "with" : "without its") + " P" +
                  std::to_string(g.on->p) + ")\n";
        }
        if (g.frames == nullptr) return out + "    (its stack: " + g.no_frames + ")\n";
        const bool is_parked = g.first.state == seen_state::waiting;
        const auto [entry, is_new] = texts_.try_emplace({g.frames->number, is_parked});
        if (is_new) entry->second = frames_text(*g.frames, code_, is_parked);
        return out + entry->second;
    }

    // One line for each.
    void add_lines(std::string& out, const seen_runtime& of) {
        std::string lines;
        uint64_t count = 0;
        const auto wanted = filter();
        gs_.for_each_chunk(of, [&](std::vector<seen_g>& chunk) {
            for (const seen_g& g : chunk) {
                if (wanted && !wanted(g)) continue;
                ++count;
                lines += std::to_string(g.id);
                if (g.name[0] != '\0') lines += std::string(" \"") + g.name + "\"";
                lines += " [" + gs_.doing(g);
                const bool has_time =
                    (g.state == seen_state::waiting || g.state == seen_state::runnable) && g.since_ns != 0;
                if (has_time) lines += ", " + duration(now_ns_ - g.since_ns).text();
                lines += "]";
                if (g.labels != 0) lines += " " + gs_.labels_of(g);
                const seen_place& place = gs_.place_of(g);
                lines += ", started at " + file_name(place.file) + ":" + std::to_string(place.line) + "\n";
            }
        });
        add_head(out, of, count);
        out += "\n" + lines;
    }

    void add_group(json_text& j, const g_group& g) {
        j.open('{').member("count", g.count).member("state", green_threads::text(g.first.state));
        if (g.first.state == seen_state::waiting) j.member("reason", gs_.doing(g.first));
        if (g.oldest_ns != 0) {
            j.key("since_ns").open('[').value(std::max<int64_t>(0, now_ns_ - g.newest_ns));
            j.value(std::max<int64_t>(0, now_ns_ - g.oldest_ns)).close(']');
        }
        if (g.same_name && g.first.name[0] != '\0') j.member("name", g.first.name);
        j.key("ids").open('[');
        for (const uint64_t id : g.ids) j.value(id);
        j.close(']').member("pinned", g.first.is_pinned);
        j.member("priority", g.first.is_high ? "high" : g.first.is_low ? "low" : "normal");
        if (g.same_labels && g.first.labels != 0) j.member("labels", gs_.labels_of(g.first));
        const seen_place& place = gs_.place_of(g.first);
        j.key("started")
            .open('{')
            .member("file", place.file)
            .member("line", place.line)
            .member("function", place.function);
        if (g.same_parent && g.first.parent != 0) j.member("by", g.first.parent);
        j.close('}').key("stack").open('[');
        if (g.frames != nullptr) add_frames(j, *g.frames, code_);
        j.close(']');
        if (!g.no_frames.empty()) j.member("no_stack", g.no_frames);
        if (g.on != nullptr) j.member("thread", g.on->tid).member("has_proc", g.on->has_p).member("proc", g.on->p);
        j.close('}');
    }

    target_memory& memory_;
    code& code_;
    green_threads gs_;
    stacks stacks_;
    const outside_options& options_;
    std::vector<seen_runtime> all_;
    int64_t now_ns_ = 0;
    std::map<std::pair<uint32_t, bool>, std::string> texts_;  // of the frames of a chain
    std::map<uint64_t, bool> has_label_;                      // by address of the labels
};

}  // namespace

struct outside::reader {
    reader(const std::string& target, const std::string& program)
        : memory(open_target(target, program)), files(*memory), where(files.dwfl()) {}

    std::unique_ptr<target_memory> memory;
    code files;
    layout where;
};

outside::outside(const std::string& target, const std::string& program)
    : reader_(std::make_unique<reader>(target, program)) {}

outside::~outside() = default;

std::string outside::green_threads(const outside_options& options) {
    answer a(*reader_->memory, reader_->files, reader_->where, options);
    return options.json ? a.json() : a.text();
}

std::string outside::state() { return state_from_outside(*reader_->memory, reader_->files, reader_->where); }

}  // namespace weft::observe
