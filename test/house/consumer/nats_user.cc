// nats_user.cc: a foreign program that uses the component nats. There is no server.
#include <cstdio>
#include <system_error>

#include <weft/nats/client.h>
#include <weft/weft.h>

int main() {
    return weft::main([]() -> int {
        try {
            static_cast<void>(weft::nats::client({.servers = {"nats://127.0.0.1:1"}}));
        } catch (const std::system_error& e) {
            const bool told = e.code() == weft::nats::errc::could_not_connect;
            std::puts(told ? "the sum of the first hundred squares is 338350" : e.what());
            return told ? 0 : 1;
        }
        return 1;
    });
}
