// redis_user.cc: a foreign program that uses the component redis. There is no server.
#include <cstdio>
#include <system_error>

#include <weft/redis/client.h>
#include <weft/weft.h>

int main() {
    return weft::main([]() -> int {
        try {
            weft::redis::client({.address = "/nowhere/at.all"}).call("PING");
        } catch (const std::system_error& e) {
            const bool told = e.code() == weft::redis::errc::could_not_connect;
            std::puts(told ? "the sum of the first hundred squares is 338350" : e.what());
            return told ? 0 : 1;
        }
        return 1;
    });
}
