// child_with_time_limit.cc: runs another program, takes its output, and ends it with all that it
// has started when it takes too long.
// See: docs/cookbook/child_with_time_limit.md
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <weft/process.h>
#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

// nullopt: the limit was exceeded. Neither the program nor its children run then.
std::optional<weft::process_output> run_for(std::chrono::milliseconds limit, const std::vector<std::string>& command) {
    try {
        return weft::with_timeout(limit, [&] { return weft::run_process(command); });
    } catch (const weft::timed_out&) {
        return std::nullopt;
    }
}

void show(std::chrono::milliseconds limit, const std::vector<std::string>& command) {
    try {
        const std::optional<weft::process_output> ended = run_for(limit, command);
        if (!ended) {
            std::printf("it took too long\n");
        } else if (!ended->status.ok()) {
            std::printf("it %s: %s", ended->status.to_string().c_str(), ended->err.c_str());
        } else {
            std::printf("it printed: %s", ended->out.c_str());
        }
    } catch (const std::system_error& e) {
        std::printf("not started: %s\n",
                    e.code() == std::errc::no_such_file_or_directory ? "no such program" : e.what());
    }
}

}  // namespace

int main() {
    return weft::main([] {
        show(10s, {"echo", "hello"});
        show(10s, {"sh", "-c", "echo no such table >&2; exit 3"});
        show(10ms, {"sh", "-c", "sleep 1000 | cat"});
        show(10s, {"no-such-program"});
    });
}
