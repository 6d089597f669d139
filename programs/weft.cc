// weft.cc: the program weft: reads recordings, other processes and their pages, and says what works
// on this machine. `weft help` lists its commands.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <weft/observe/doctor.h>
#include <weft/observe/outside.h>
#include <weft/observe/recorder.h>

#include "program_arguments.h"
#include "top.h"

namespace {

constexpr const char* help_text =
    R"(weft COMMAND

  trace FILE                     where time went: by place of start, waits, the longest delays, regions
  trace FILE --path REGION       what the longest region of this name waited for, and what that waited for
  trace FILE --text [FROM TO]    one line for each event; FROM and TO are times after the first one: 10ms, 1.5s
  trace FILE --perfetto OUT      convert it for Perfetto (ui.perfetto.dev)
  trace FILE --chrome OUT        convert it for viewers of Chrome's JSON, such as speedscope
  … --only label=KEY[=VALUE]     any of these for some of the green threads: those with that label,
    --only name=NAME             that name,
    --only started=FILE.CC[:12]  or that place of start
  ps PID|CORE [OPTIONS]          the green threads of a process or core file, those with equal stacks as one entry
     --all                       one line for each
     --json                      the form weft.ps/1
     --state STATE               only these: runnable, running, waiting, "in call", or a wait: "chan receive"
     --name NAME                 only these; may have * and ?
     --label KEY[=VALUE]         only those with this label
     --at FILE[:LINE]            only those started there
     --groups N                  show N groups of each runtime (30); 0: all
     --program FILE              of a core file, if the program is not where it was
  top URL|PID [OPTIONS]          what a program does, each second, in a terminal: by its page, or from outside
     --once                      print it once, as text
     --every TIME                between two samples (1s)
     --by VIEW                   rows by site, state, label or object
     --sort ORDER                rows by count, oldest or name
  doctor                         say whether recordings, names in reports, debuggers and profilers work here
  help                           this text

FILE of trace is what weft::observe has written: recording::write, triggers, stream.
)";

void print(const std::string& text) {
    const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!is_written) throw std::system_error(errno, std::generic_category(), "weft: cannot write the output");
}

// Takes each "--only X=Y" out of the arguments.
weft::observe::green_thread_filter take_filter(std::vector<std::string>& arguments) {
    weft::observe::green_thread_filter filter;
    for (std::size_t at = 0; at < arguments.size();) {
        if (arguments[at] != "--only") {
            ++at;
            continue;
        }
        const std::string what = at + 1 < arguments.size() ? arguments[at + 1] : "";
        const std::size_t cut = what.find('=');
        const std::string kind = what.substr(0, cut);
        std::string* member = kind == "label"     ? &filter.label
                              : kind == "name"    ? &filter.name
                              : kind == "started" ? &filter.started
                                                  : nullptr;
        if (member == nullptr || cut == std::string::npos || cut + 1 == what.size() || !member->empty())
            throw usage_error("--only needs label=…, name=… or started=…, each at most once");
        *member = what.substr(cut + 1);
        const auto first = arguments.begin() + static_cast<std::ptrdiff_t>(at);
        arguments.erase(first, first + 2);
    }
    return filter;
}

int trace(std::vector<std::string> arguments) {
    const weft::observe::green_thread_filter filter = take_filter(arguments);
    const bool is_all = filter.label.empty() && filter.name.empty() && filter.started.empty();
    if (arguments.empty()) throw usage_error("trace needs a file");
    const std::string& file = arguments[0];
    const auto read = [&] {
        weft::observe::recording all = weft::observe::recording::read(file);
        return is_all ? all : all.only(filter);
    };
    const std::string form = arguments.size() > 1 ? arguments[1] : "";
    const std::size_t values = arguments.size() < 2 ? 0 : arguments.size() - 2;
    const auto needs = [&](std::size_t count, const char* what) {
        if (values != count) throw usage_error("trace FILE " + form + " needs " + what);
    };
    if (form.empty()) {
        print(read().summary());
    } else if (form == "--path") {
        needs(1, "the name of a region");
        print(read().critical_path(arguments[2]));
    } else if (form == "--text") {
        if (values != 0) needs(2, "two times, or none");
        const auto from = values == 0 ? std::chrono::nanoseconds(0) : duration_of(arguments[2]);
        const auto to = values == 0 ? (std::chrono::nanoseconds::max)() : duration_of(arguments[3]);
        read().write_text("-", from, to);
    } else if (form == "--perfetto" || form == "--chrome") {
        needs(1, "the file to write");
        const auto r = read();
        if (form == "--perfetto") {
            r.write_perfetto(arguments[2]);
        } else {
            r.write_chrome_json(arguments[2]);
        }
        print(arguments[2] + ": " + std::to_string(r.events()) + " events\n");
    } else {
        throw usage_error("trace does not know " + form);
    }
    return 0;
}

int ps(const std::vector<std::string>& arguments) {
    weft::observe::outside_options how;
    std::string target;
    std::string program;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& option = arguments[i];
        if (option == "--all") {
            how.grouped = false;
        } else if (option == "--json") {
            how.json = true;
        } else if (option == "--state") {
            how.state = value_of(arguments, i);
        } else if (option == "--name") {
            how.name = value_of(arguments, i);
        } else if (option == "--label") {
            how.label = value_of(arguments, i);
        } else if (option == "--at") {
            how.started_at = value_of(arguments, i);
        } else if (option == "--groups") {
            how.groups_max = number_of(option, value_of(arguments, i));
        } else if (option == "--program") {
            program = value_of(arguments, i);
        } else if (option[0] == '-' || !target.empty()) {
            throw usage_error("ps does not know " + option);
        } else {
            target = option;
        }
    }
    if (target.empty()) throw usage_error("ps needs the number of a process, or a core file");
    print(weft::observe::outside(target, program).green_threads(how));
    return 0;
}

int doctor(const std::vector<std::string>& arguments) {
    if (!arguments.empty()) throw usage_error("doctor needs no arguments");
    bool is_broken = false;
    for (const weft::observe::finding& f : weft::observe::diagnose()) {
        is_broken = is_broken || f.is == weft::observe::health::broken;
        print(weft::observe::text_of(f));
    }
    return is_broken ? 1 : 0;
}

int run(std::vector<std::string> arguments) {
    if (arguments.empty()) throw usage_error("a command is missing");
    const std::string command = arguments[0];
    arguments.erase(arguments.begin());
    if (command == "trace") return trace(arguments);
    if (command == "ps") return ps(arguments);
    if (command == "top") return top(arguments);
    if (command == "doctor") return doctor(arguments);
    if (command == "help" || command == "--help" || command == "-h") {
        print(help_text);
        return 0;
    }
    throw usage_error("there is no command " + command);
}

}  // namespace

int main(int count, char** arguments) {
    try {
        return run({arguments + 1, arguments + count});
    } catch (const usage_error& e) {
        std::fprintf(stderr, "weft: %s; `weft help` lists the commands\n", e.what());
        return 2;
    } catch (const std::exception& e) {
        const bool says_it = std::strncmp(e.what(), "weft: ", 6) == 0;
        std::fprintf(stderr, "%s%s\n", says_it ? "" : "weft: ", e.what());
        return 1;
    }
}
