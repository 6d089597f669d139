// load.h: all kinds of socket operations at once, and other work beside them, for a period. Then
// all of it ends.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include <weft/weft.h>

#include "soak/books.h"
#include "soak/errands.h"
#include "soak/house.h"
#include "support/random.h"

namespace weft::test {

class load {
public:
    // folder: for files and sockets. Ports are chosen at random.
    load(books& all, const std::string& folder, prng random);

    // Called by a green thread of rt. Returns when everything that it began has ended. damages:
    // sends one wrong byte.
    void run_for(runtime& rt, std::chrono::milliseconds period, prng random, bool damages);

    // How often the number of a descriptor was reused at once.
    [[nodiscard]] uint64_t numbers_used_again() const noexcept { return numbers_used_again_; }

    [[nodiscard]] uint64_t houses_opened_again() const noexcept { return houses_opened_again_; }

private:
    static constexpr int visitors = 24;

    // Makes what is opened on first use, and threads that are kept, so that all of that exists from
    // then on.
    void take_what_stays(prng random);

    // Does one thing after the other until the period is over.
    void go_about(prng random);
    void do_something(prng& random);

    template <typename Kind>
    void open_again(house<Kind>& h, prng random);
    void change_procs(runtime& rt, prng random);

    template <typename F>
    void for_each_house(F f);

    books& books_;
    const std::string folder_;
    house<at_tcp> tcp_;
    house<at_unix> local_;
#if WEFT_TEST_WITH_TLS
    house<at_tls> tls_;
#endif
    udp_echo udp_;
    impatient_house impatient_;
    std::atomic<bool> is_over_ = false;
    std::atomic<uint64_t> files_ = 0;
    std::atomic<uint64_t> numbers_used_again_ = 0;
    std::atomic<uint64_t> houses_opened_again_ = 0;
};

}  // namespace weft::test
