#include "transaction.h"

#include <chrono>
#include <exception>
#include <random>

#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/time.h>

namespace postgres_client {

namespace {

using namespace std::chrono_literals;

constexpr int most_tries = 50;
constexpr std::chrono::milliseconds rollback_time = 1s;

// The range grows with the number of failures. The pause is random, so that conflicting
// transactions do not collide again.
std::chrono::microseconds pause_after(int failures) {
    const auto most = static_cast<unsigned>(failures) * 2000U;
    return std::chrono::microseconds(std::random_device()() % most);
}

// If the rollback fails, the connection is still in a transaction and not clean, so the pool drops
// it.
void roll_back(connection& c) {
    weft::shield([&] {
        try {
            weft::with_timeout(rollback_time, [&] { c.query({"ROLLBACK"}); });
        } catch (const weft::timed_out&) {
            return;
        } catch (const std::exception&) {
            return;
        }
    });
}

void try_once(connection& c, const std::function<void(connection&)>& f) {
    c.query({"BEGIN ISOLATION LEVEL SERIALIZABLE"});
    try {
        f(c);
    } catch (...) {
        roll_back(c);
        throw;
    }
    c.query({"COMMIT"});  // ends the transaction even if the server refuses to commit
}

}  // namespace

int in_transaction(connection& c, const std::function<void(connection&)>& f) {
    for (int failed = 0;; ++failed) {
        try {
            try_once(c, f);
            return failed;
        } catch (const statement_error& e) {
            if (!e.is_worth_another_try() || failed + 1 == most_tries) throw;
        }
        weft::sleep_for(pause_after(failed + 1));
    }
}

}  // namespace postgres_client
