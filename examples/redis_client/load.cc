#include "load.h"

#include <mutex>
#include <span>
#include <vector>

#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/mutex.h>
#include <weft/time.h>
#include <weft/wait_group.h>

namespace redis_client {

namespace {

constexpr std::chrono::milliseconds pause_after_failure{10};

class loader {
public:
    loader(pool& servers, const load_options& how) : servers_(servers), how_(how) {}

    load_result run() {
        weft::wait_group clients;
        for (std::size_t i = 0; i < how_.clients; ++i) clients.go([this, i] { run_client(i); });
        clients.wait();
        return result_;
    }

private:
    void run_client(std::size_t client) {
        for (std::size_t round = 0; round < how_.rounds; ++round) {
            try {
                const bool right = weft::with_timeout(how_.call_time, [&] { return run_round(client, round); });
                count(right ? &load_result::rounds : &load_result::wrong);
                if (round + 1 < how_.rounds) weft::sleep_for(how_.pause);
                continue;
            } catch (const weft::timed_out&) {
                count(&load_result::late);
            } catch (const connection_error& e) {
                count(&load_result::failed, e.what());
            }
            weft::sleep_for(pause_after_failure);
        }
    }

    // Sets and gets a key of this round several times in one pipeline. Returns whether each GET has
    // read what the SET before it wrote. The client's next round has another key, because the
    // server may still execute the commands of a late round.
    bool run_round(std::size_t client, std::size_t round) {
        const std::string key = "load:" + std::to_string(client) + ":" + std::to_string(round);
        const std::string value = key + ":";
        std::vector<command> commands;
        for (std::size_t i = 0; i < how_.depth; ++i) {
            commands.push_back({"SET", key, value + std::to_string(i), "EX", "60"});
            commands.push_back({"GET", key});
        }
        commands.push_back({"INCR", "load:rounds"});
        const std::vector<reply> replies = servers_.borrow()->call_all(commands);
        for (const reply& r : replies) {
            if (r.is_error()) throw connection_error("the server says: " + std::string(r.text()));
        }
        bool right = replies.back().is_integer();
        for (std::size_t i = 0; i < how_.depth; ++i) {
            right = right && replies[2 * i + 1].text() == value + std::to_string(i);
        }
        return right;
    }

    void count(uint64_t load_result::* what, const char* failure = nullptr) {
        const std::lock_guard<weft::mutex> locked(lock_);
        ++(result_.*what);
        if (failure != nullptr && result_.first_failure.empty()) result_.first_failure = failure;
    }

    pool& servers_;
    const load_options how_;
    weft::mutex lock_;
    load_result result_;  // guarded by lock_
};

}  // namespace

load_result put_load_on(pool& servers, const load_options& how) { return loader(servers, how).run(); }

}  // namespace redis_client
