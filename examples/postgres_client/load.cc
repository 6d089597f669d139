#include "load.h"

#include <array>
#include <exception>
#include <mutex>
#include <optional>
#include <random>

#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/mutex.h>
#include <weft/time.h>
#include <weft/wait_group.h>

#include "transaction.h"

namespace postgres_client {

namespace {

using namespace std::chrono_literals;

constexpr int first_balance = 1000;
constexpr std::chrono::milliseconds pause_after_failure = 20ms;
constexpr int tries_for_the_sum = 500;  // the server may be restarting

class bank {
public:
    bank(pool& servers, const load_options& how) : servers_(servers), how_(how) {}

    load_result run() {
        open_accounts();
        weft::wait_group clients;
        for (std::size_t i = 0; i < how_.clients; ++i) clients.go([this, i] { run_client(i); });
        clients.wait();
        const std::size_t sum = how_.accounts * first_balance;
        result_.sum_is_right = sum_of_balances() == std::to_string(sum);
        return result_;
    }

private:
    void open_accounts() {
        const std::array<statement, 3> statements{
            statement{"DROP TABLE IF EXISTS bank_accounts"},
            statement{"CREATE TABLE bank_accounts (id int PRIMARY KEY, balance int NOT NULL)"},
            statement{"INSERT INTO bank_accounts SELECT i, $1 FROM generate_series(1, $2::int) i",
                      {std::to_string(first_balance), std::to_string(how_.accounts)}}};
        servers_.borrow()->query_all(statements);
    }

    void run_client(std::size_t client) {
        std::minstd_rand random(static_cast<uint32_t>(client + 1));
        std::uniform_int_distribution<std::size_t> any_account(1, how_.accounts);
        for (std::size_t round = 0; round < how_.rounds; ++round) {
            const std::size_t from = any_account(random);
            const std::size_t to = any_account(random);
            try {
                const int in_vain = weft::with_timeout(how_.call_time, [&] { return transfer(from, to); });
                count(&load_result::done, static_cast<uint64_t>(in_vain));
                continue;
            } catch (const weft::timed_out&) {
                count(&load_result::late);
            } catch (const std::exception& e) {  // connection_error, statement_error
                count(&load_result::failed, 0, e.what());
            }
            weft::sleep_for(pause_after_failure);
        }
    }

    int transfer(std::size_t from, std::size_t to) {
        const std::array<statement, 2> both{
            statement{"UPDATE bank_accounts SET balance = balance - 1 WHERE id = $1::int", {std::to_string(from)}},
            statement{"UPDATE bank_accounts SET balance = balance + 1 WHERE id = $1::int", {std::to_string(to)}}};
        pool::lease c = servers_.borrow();
        return in_transaction(*c, [&](connection& in) {
            for (const statement& s : both) in.query(s);
        });
    }

    std::string sum_of_balances() {
        for (int i = 1;; ++i) {
            try {
                return std::string(servers_.borrow()->query({"SELECT sum(balance) FROM bank_accounts"}).text(0, 0));
            } catch (const connection_error&) {
                if (i == tries_for_the_sum) throw;
            }
            weft::sleep_for(pause_after_failure);
        }
    }

    void count(uint64_t load_result::* what, uint64_t in_vain = 0, const char* failure = nullptr) {
        const std::lock_guard<weft::mutex> locked(lock_);
        ++(result_.*what);
        result_.repeated += in_vain;
        if (failure != nullptr && result_.first_failure.empty()) result_.first_failure = failure;
    }

    pool& servers_;
    const load_options how_;
    weft::mutex lock_;
    load_result result_;  // guarded by lock_
};

}  // namespace

load_result put_load_on(pool& servers, const load_options& how) { return bank(servers, how).run(); }

}  // namespace postgres_client
