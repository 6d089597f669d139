// single_flight_cache.cc: a cache whose entries expire. Concurrent requests for a missing entry
// share one load.
// See: docs/cookbook/single_flight_cache.md
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include <weft/weft.h>

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

namespace {

class cache {
public:
    using loader = std::function<std::string(const std::string& key)>;

    cache(clock_type::duration lifetime, loader load) : lifetime_(lifetime), load_(std::move(load)) {}

    // Throws what the loader throws. Failures are not kept: the next request loads again.
    std::string get(const std::string& key) {
        if (std::optional<std::string> found = find(key)) return *found;
        return loads_.do_(key, [&] {
            // Another load may have ended between find() and do_().
            if (std::optional<std::string> found = find(key)) return *found;
            std::string value = load_(key);  // without the lock
            const std::lock_guard hold(lock_);
            entries_[key] = {value, clock_type::now() + lifetime_};
            return value;
        });
    }

private:
    struct entry {
        std::string value;
        clock_type::time_point expires;
    };

    std::optional<std::string> find(const std::string& key) {
        const std::lock_guard hold(lock_);
        const auto at = entries_.find(key);
        if (at == entries_.end() || at->second.expires <= clock_type::now()) return std::nullopt;
        return at->second.value;
    }

    const clock_type::duration lifetime_;
    const loader load_;
    weft::mutex lock_;
    std::unordered_map<std::string, entry> entries_;  // guarded by lock_
    weft::single_flight<std::string, std::string> loads_;
};

}  // namespace

int main() {
    return weft::main([] {
        std::atomic<int> loads = 0;
        cache users(1h, [&](const std::string& key) {
            ++loads;
            weft::sleep_for(1ms);  // the database
            if (key == "missing") throw std::out_of_range("no such user");
            return "profile of " + key;
        });
        const auto ask_often = [&](const std::string& key) {
            loads = 0;
            weft::wait_group requests;
            for (int i = 0; i < 100; ++i) requests.go([&] { users.get(key); });
            requests.wait();
            std::printf("100 requests for %s: %d loads\n", key.c_str(), loads.load());
        };
        ask_often("anna");
        ask_often("anna");
        try {
            users.get("missing");
        } catch (const std::out_of_range& e) {
            std::printf("%s\n", e.what());
        }
    });
}
