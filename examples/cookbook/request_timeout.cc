// request_timeout.cc: each request has a time limit, which holds for everything that it calls.
// See: docs/cookbook/request_timeout.md
#include <chrono>
#include <cstdio>
#include <string>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

std::string query_database(const std::string& user) {
    weft::sleep_for(user == "slow" ? 1h : 100us);
    return "profile of " + user;
}

// Has a limit of its own, and an answer for the case that it is exceeded.
std::string recommendations(const std::string& user) {
    try {
        return weft::with_timeout(1ms, [&]() -> std::string {
            weft::sleep_for(user == "new" ? 1h : 0s);
            return "three books";
        });
    } catch (const weft::timed_out&) {
        weft::throw_if_cancelled();  // it was the limit of the request: end it
        return "bestsellers";
    }
}

std::string handle(const std::string& user) { return query_database(user) + ", " + recommendations(user); }

std::string answer(const std::string& user, std::chrono::milliseconds limit) {
    try {
        return "200 " + weft::with_timeout(limit, [&] { return handle(user); });
    } catch (const weft::timed_out&) {
        return "504 no answer in time";
    }
}

}  // namespace

int main() {
    return weft::main([] {
        std::printf("anna: %s\n", answer("anna", 10s).c_str());
        std::printf("new:  %s\n", answer("new", 10s).c_str());
        std::printf("slow: %s\n", answer("slow", 10ms).c_str());
    });
}
