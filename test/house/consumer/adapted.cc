// adapted.cc: a foreign program that uses the component asio.
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdio>

#include <weft/asio/executor.h>
#include <weft/asio/use_weft.h>
#include <weft/weft.h>

int main() {
    return weft::main([] {
        weft::asio::context here;
        boost::asio::steady_timer(here.get_executor(), std::chrono::milliseconds(1)).async_wait(weft::asio::use_weft);
        std::puts("the sum of the first hundred squares is 338350");
    });
}
