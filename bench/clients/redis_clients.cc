// redis_clients.cc SOCKET [CALLERS REQUESTS ROUNDS]: weft::redis beside hiredis in OS threads.
//
// Each caller sends small commands, one after the other: SET and GET in turn. Callers are green
// threads, which share 8 connections; and OS threads, each with a connection of its own. SOCKET is
// the path of a server's Unix socket, for example of: redis-server --port 0 --unixsocket /tmp/s
// --save ""
#include <hiredis/hiredis.h>

#include <string>
#include <vector>

#include <weft/redis/client.h>
#include <weft/weft.h>

#include "compare.h"

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const std::string path = argv[1];
    const bench::load l = bench::load::of(argc, argv);
    std::vector<redisContext*> contexts(l.callers);
    for (redisContext*& c : contexts) {
        c = redisConnectUnix(path.c_str());
        if (c == nullptr || c->err != 0) return 1;
    }

    const int status = weft::main([&] {
        weft::redis::client client({.address = path});
        const auto by_weft = [&] {
            weft::wait_group all;
            for (std::size_t i = 0; i < l.callers; ++i) {
                all.go([&, i] {
                    const std::string key = "key" + std::to_string(i);
                    for (std::size_t k = 0; k < l.requests; ++k) {
                        if (k % 2 == 0) {
                            client.call({"SET", key, k});
                        } else {
                            client.call({"GET", key});
                        }
                    }
                });
            }
            all.wait();
        };
        const auto by_threads = [&] {
            bench::in_threads(l.callers, [&](std::size_t i) {
                const int caller = static_cast<int>(i);
                for (int k = 0; k < static_cast<int>(l.requests); ++k) {
                    void* const r = k % 2 == 0 ? redisCommand(contexts[i], "SET key%d %d", caller, k)
                                               : redisCommand(contexts[i], "GET key%d", caller);
                    if (r == nullptr) std::abort();
                    freeReplyObject(r);
                }
            });
        };
        bench::compare(l, "weft::redis, 8 connections", by_weft, "hiredis, an OS thread each",
                       [&] { weft::blocking(by_threads); });
        return 0;
    });
    for (redisContext* c : contexts) redisFree(c);
    return status;
}
