// postgres_user.cc: a foreign program that uses the component postgres. There is no server.
#include <cstdio>
#include <system_error>

#include <weft/postgres/client.h>
#include <weft/weft.h>

int main() {
    return weft::main([]() -> int {
        try {
            weft::postgres::client({.conninfo = "host=/nowhere"}).query("SELECT 1");
        } catch (const std::system_error& e) {
            const bool told = e.code() == weft::postgres::errc::could_not_connect;
            std::puts(told ? "the sum of the first hundred squares is 338350" : e.what());
            return told ? 0 : 1;
        }
        return 1;
    });
}
