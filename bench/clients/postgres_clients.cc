// postgres_clients.cc CONNINFO [CALLERS REQUESTS ROUNDS]: weft::postgres beside libpq in OS
// threads.
//
// Each caller executes a prepared SELECT, one after the other. Callers are green threads, which
// share 8 connections; and OS threads, which share the same number, one user at a time.
#include <libpq-fe.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include <weft/postgres/client.h>
#include <weft/weft.h>

#include "compare.h"

namespace {

constexpr std::size_t connections = 8;

// What a program with threads has: a list of connections, and a condition variable.
class thread_pool_of_connections {
public:
    explicit thread_pool_of_connections(const char* conninfo) {
        for (std::size_t i = 0; i < connections; ++i) {
            PGconn* const c = PQconnectdb(conninfo);
            PQclear(PQprepare(c, "s", "SELECT $1::int + 1", 1, nullptr));
            idle_.push_back(c);
        }
    }

    ~thread_pool_of_connections() {
        for (PGconn* c : idle_) PQfinish(c);
    }

    thread_pool_of_connections(const thread_pool_of_connections&) = delete;
    thread_pool_of_connections& operator=(const thread_pool_of_connections&) = delete;

    PGconn* borrow() {
        std::unique_lock<std::mutex> locked(lock_);
        some_.wait(locked, [&] { return !idle_.empty(); });
        PGconn* const c = idle_.back();
        idle_.pop_back();
        return c;
    }

    void give_back(PGconn* c) {
        const std::lock_guard<std::mutex> locked(lock_);
        idle_.push_back(c);
        some_.notify_one();
    }

private:
    std::mutex lock_;
    std::condition_variable some_;
    std::vector<PGconn*> idle_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const bench::load l = bench::load::of(argc, argv);
    thread_pool_of_connections pool(argv[1]);
    return weft::main([&] {
        weft::postgres::client client({.conninfo = argv[1], .connections_max = connections});
        const auto by_weft = [&] {
            weft::wait_group all;
            for (std::size_t i = 0; i < l.callers; ++i) {
                all.go([&, i] {
                    for (std::size_t k = 0; k < l.requests; ++k)
                        static_cast<void>(
                            client.query(weft::postgres::statement("SELECT $1::int + 1", i).prepared()).value<int>());
                });
            }
            all.wait();
        };
        const auto by_threads = [&] {
            bench::in_threads(l.callers, [&](std::size_t i) {
                const std::string text = std::to_string(i);
                const char* const value = text.c_str();
                for (std::size_t k = 0; k < l.requests; ++k) {
                    PGconn* const c = pool.borrow();
                    PQclear(PQexecPrepared(c, "s", 1, &value, nullptr, nullptr, 0));
                    pool.give_back(c);
                }
            });
        };
        bench::compare(l, "weft::postgres, 8 connections", by_weft, "libpq, OS threads, 8 connections",
                       [&] { weft::blocking(by_threads); });
        return 0;
    });
}
