// request_values.cc: values that belong to a request (its id, its user) are known to all functions
// and green threads that work for it, without parameters.
// See: docs/cookbook/request_values.md
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include <weft/weft.h>

namespace {

struct request_values {
    int id = 0;
    std::string user = "guest";
};

const weft::local<request_values> request;  // each green thread has its own

weft::mutex lines_lock;
std::set<std::string> lines;  // guarded by lines_lock; sorted

void log(const std::string& text) {
    const std::lock_guard hold(lines_lock);
    lines.insert("request " + std::to_string(request->id) + " of " + request->user + ": " + text);
}

void read_table(const std::string& name) { log("reads " + name); }

void handle(int id, const std::string& user) {
    request.get() = {.id = id, .user = user};
    log("begins");
    weft::scope([](weft::task_scope& s) {
        // These start with copies of the values.
        s.go({.inherit_locals = true}, [] { read_table("orders"); });
        s.go({.inherit_locals = true}, [] { read_table("prices"); });
    });
}

}  // namespace

int main() {
    return weft::main([] {
        weft::wait_group requests;
        requests.go([] { handle(1, "anna"); });
        requests.go([] { handle(2, "ben"); });
        requests.wait();
        log("the main green thread has its own value");
        for (const std::string& line : lines) std::printf("%s\n", line.c_str());
    });
}
