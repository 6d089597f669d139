// doctor.cc: see weft/observe/doctor.h.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include <weft/chan.h>
#include <weft/go.h>
#include <weft/observe/doctor.h>
#include <weft/observe/recorder.h>
#include <weft/runtime.h>
#include <weft/trace.h>

#include "os/symbols.h"
#include "symbols/symbolizer.h"

namespace weft::observe {

namespace {

std::string first_line(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// A file that is removed again.
class scratch_file {
public:
    scratch_file() {
        const char* folder = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe)
        path_ = std::string(folder == nullptr ? "/tmp" : folder) + "/weft_doctor_XXXXXX";
        const int fd = ::mkstemp(path_.data());
        if (fd >= 0) ::close(fd);
    }

    ~scratch_file() { ::unlink(path_.c_str()); }

    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    [[nodiscard]] std::string contents() const {
        std::ostringstream all;
        all << std::ifstream(path_, std::ios::binary).rdbuf();
        return all.str();
    }

private:
    std::string path_;
};

// What the text of a recording must have: known events.
constexpr std::array<std::string_view, 6> known_events = {
    "doctor begins region examination",
    "doctor: says a",
    "doctor waits: chan receive",
    "wakes G ",
    "doctor runs on",
    "doctor ends",
};

recording record_known_events() {
    runtime rt({.procs = 1, .name = "weft doctor"});
    const recorder r(rt);
    rt.run([] {
        const chan<int> answer;
        const chan<int> done;
        go({.name = "doctor"}, [answer, done] {
            const trace::region examination("examination");
            trace::log("says a");
            answer.recv();
            done.close();
        });
        yield();  // until it waits
        answer.send(1);
        done.recv();
    });
    rt.drain();
    return r.snapshot();
}

std::string missing_event(const std::string& text) {
    for (const std::string_view event : known_events) {
        if (text.find(event) == std::string::npos) return std::string(event);
    }
    return {};
}

finding check_recording() {
    finding f{"recording", health::good, {}, {}};
    try {
        const recording r = record_known_events();
        const scratch_file file;
        r.write(file.path());
        const recording again = recording::read(file.path());
        const scratch_file text;
        again.write_text(text.path());
        const std::string missing = missing_event(text.contents());
        if (missing.empty() && again.events() == r.events()) {
            f.why = "known events were recorded, written to a file, and found in it (" + std::to_string(r.events()) +
                    " events)";
        } else {
            f.is = health::broken;
            f.why = missing.empty() ? "a file has not all events" : "this event was not found: " + missing;
            f.remedy = "report this as a bug of weft";
        }
    } catch (const std::exception& e) {
        f.is = health::broken;
        f.why = e.what();
        f.remedy = "see the message; a recording needs memory for rings, and a temporary directory that can be written";
    }
    return f;
}

finding check_names() {
    finding f{"names in reports", health::good, {}, {}};
    bool has_name = false;
    bool has_line = false;
    {
        weft::detail::symbolizer names;
        weft::detail::os::code_place place{};
        if (weft::detail::os::find_code(reinterpret_cast<const void*>(&diagnose), place)) {
            names.ask(place, nullptr, nullptr, [&](const weft::detail::symbol& s) {
                if (std::string_view(s.function).find("diagnose") != std::string_view::npos) has_name = true;
                if (s.line != 0) has_line = true;
            });
        }
    }
    if (has_line) {
        f.why = "functions, files and lines are found";
    } else if (has_name) {
        f.is = health::limited;
        f.why = "functions are found, but no lines";
        f.remedy = "compile with -g, or install separate debug files; see docs/debugging.md#names-and-lines";
    } else {
        f.is = health::limited;
        f.why = "the name of a function was not found";
        f.remedy =
            "keep the symbol table (no -s, no strip), or install separate debug files; RUN_DEBUG=symbols=0 must not be "
            "set";
    }
    return f;
}

finding check_clock() {
    finding f{"clock of the CPUs", health::good, {}, {}};
    const std::string source = first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    if (source.empty()) {
        f.is = health::limited;
        f.why = "the system does not say which clock it uses";
    } else if (source == "tsc" || source == "arch_sys_counter" || source == "kvm-clock") {
        f.why = "the system uses it, too (" + source + ")";
    } else {
        f.is = health::limited;
        f.why = "the system does not trust it, and uses " + source;
        f.remedy = "times of different CPUs in a recording may differ; see dmesg on clocksource";
    }
    return f;
}

finding check_perf() {
    finding f{"perf", health::good, {}, {}};
    const std::string level = first_line("/proc/sys/kernel/perf_event_paranoid");
    const bool is_root = ::geteuid() == 0;
    f.why = level.empty() ? "this system has no perf events" : "perf_event_paranoid is " + level;
    if (level.empty()) {
        f.is = health::limited;
    } else if (std::atoi(level.c_str()) > 2 && !is_root) {  // NOLINT(cert-err34-c): the kernel's own file
        f.is = health::limited;
        f.remedy = "sysctl kernel.perf_event_paranoid=2 lets users profile their own programs";
    }
    return f;
}

finding check_debugger() {
    finding f{"debuggers", health::good, {}, {}};
    const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
    if (scope.empty() || scope == "0" || ::geteuid() == 0) {
        f.why = "may attach to programs of the same user";
    } else {
        f.is = health::limited;
        f.why = "may not attach to a running program (ptrace_scope is " + scope + ")";
        f.remedy = "sysctl kernel.yama.ptrace_scope=0, or start the program in the debugger";
    }
    return f;
}

finding check_core_files() {
    finding f{"core files", health::good, {}, {}};
    struct rlimit limit{};
    ::getrlimit(RLIMIT_CORE, &limit);
    const std::string pattern = first_line("/proc/sys/kernel/core_pattern");
    if (limit.rlim_cur != 0 || (!pattern.empty() && pattern.front() == '|')) {
        f.why = "are written to: " + pattern;
    } else {
        f.is = health::limited;
        f.why = "are not written";
        f.remedy = "ulimit -c unlimited";
    }
    return f;
}

const char* word_of(health h) noexcept {
    switch (h) {
        case health::good:
            return "ok      ";
        case health::limited:
            return "limited ";
        case health::broken:
            return "BROKEN  ";
    }
    return "?";
}

}  // namespace

std::vector<finding> diagnose() {
    return {check_recording(), check_names(), check_clock(), check_perf(), check_debugger(), check_core_files()};
}

std::string text_of(const finding& f) {
    const std::string text = word_of(f.is) + f.what + ": " + f.why + "\n";
    return f.remedy.empty() ? text : text + "        -> " + f.remedy + "\n";
}

std::string diagnosis() {
    std::string text;
    for (const finding& f : diagnose()) text += text_of(f);
    return text;
}

}  // namespace weft::observe
