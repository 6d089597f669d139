// hedged_request.cc: asks a second replica if the first has not answered after a while. The first
// answer counts; the other request is cancelled.
// See: docs/cookbook/hedged_request.md
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>

#include <weft/weft.h>

using namespace std::chrono_literals;

namespace {

std::atomic<int> cancelled = 0;

std::string ask(const std::string& replica) {
    try {
        weft::sleep_for(replica == "slow" ? 1h : 0h);
    } catch (const weft::cancelled&) {
        ++cancelled;
        throw;
    }
    if (replica == "broken") throw std::runtime_error("broken");
    return "answer of " + replica;
}

// The first answer. Throws the error of the second replica if both fail. Neither request runs when
// it returns.
std::string ask_either(const std::string& first, const std::string& second, std::chrono::milliseconds patience) {
    return weft::scope([&](weft::task_scope& s) {
        weft::future<std::string> a = s.async([&] { return ask(first); });
        if (a.wait_for(patience) == std::future_status::ready) {
            try {
                return a.get();
            } catch (const std::exception&) {
                return ask(second);
            }
        }
        weft::future<std::string> b = s.async([&] { return ask(second); });
        bool a_won = false;
        weft::select(weft::on_future(a, [&] { a_won = true; }), weft::on_future(b, [] {}));
        weft::future<std::string>& winner = a_won ? a : b;
        weft::future<std::string>& other = a_won ? b : a;
        try {
            std::string answer = winner.get();
            other.cancel();
            return answer;
        } catch (const std::exception&) {
            return other.get();
        }
    });
}

}  // namespace

int main() {
    return weft::main([] {
        std::printf("%s\n", ask_either("quick", "spare", 10s).c_str());
        std::printf("%s\n", ask_either("slow", "spare", 1ms).c_str());
        std::printf("%s\n", ask_either("broken", "spare", 10s).c_str());
        std::printf("requests cancelled: %d\n", cancelled.load());
    });
}
