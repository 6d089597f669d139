#include "soak/load.h"

#include <system_error>

#if WEFT_TEST_WITH_TLS
#include "tls/certificates.h"
#endif

namespace weft::test {

using namespace std::chrono_literals;

namespace {

// A free port that the system never assigns by itself: its own range begins at 32768. A port that a
// server leaves for a moment must not become that of a client, which could even connect to itself.
net::endpoint a_port(prng& random) {
    for (int tries = 0;; ++tries) {
        const net::endpoint at = net::endpoint::loopback(static_cast<uint16_t>(20'000 + random.below(12'000)));
        try {
            const net::tcp_listener free(at);
            return at;
        } catch (const std::system_error&) {
            if (tries == 100) throw;
        }
    }
}

#if WEFT_TEST_WITH_TLS
at_tls tls_at(const net::endpoint& at) {
    const tls::client_options trust{.trust_system = false, .trusted = test_authority().pem()};
    certificate_options long_lived;
    long_lived.valid_until = 365L * 24 * 3600;
    return {.address = at,
            .trusting = tls::context::client(trust),
            .serving = tls::context::server(tls::server_options{.own = {test_authority().issue(long_lived)}}),
            .how = trust};
}
#endif

}  // namespace

conversation conversation::at_random(prng& random) {
    const auto size = [&random]() -> uint32_t {
        if (random.one_in(10)) return 0;
        return static_cast<uint32_t>(1 + random.below(random.one_in(12) ? 300'000 : 6'000));
    };
    conversation c{
        .key = random.next(), .size_there = size(), .size_back = size(), .how = ending::both_at_once, .damaged = 0};
    if (!random.one_in(3)) c.how = static_cast<ending>(random.below(static_cast<int>(ending::count)));
    return c;
}

load::load(books& all, const std::string& folder, prng random)
    : books_(all),
      folder_(folder),
      tcp_(all, at_tcp{.address = a_port(random)}),
      local_(all, at_unix{.address = net::unix_address(folder + "/soak_socket")})
#if WEFT_TEST_WITH_TLS
      ,
      tls_(all, tls_at(a_port(random)))
#endif
{
}

template <typename F>
void load::for_each_house(F f) {
    f(tcp_);
    f(local_);
#if WEFT_TEST_WITH_TLS
    f(tls_);
#endif
}

void load::run_for(runtime& rt, std::chrono::milliseconds period, prng random, bool damages) {
    is_over_ = false;
    for_each_house([&](auto& h) { h.open(random.split()); });
    udp_.open();
    impatient_.open(books_);
    take_what_stays(random.split());
    wait_group all;
    for (int i = 0; i < visitors; ++i) all.go([this, r = random.split()] { go_about(r); });
    for_each_house([&](auto& h) { all.go([this, &h, r = random.split()] { open_again(h, r); }); });
    all.go([this, &rt, r = random.split()] { change_procs(rt, r); });
    if (damages) visit(books_, tcp_, random.split(), true);
    sleep_for(period);
    is_over_ = true;
    all.wait();
    for_each_house([](auto& h) {
        h.close();
        h.wait_for_guests();
    });
    udp_.close();
    impatient_.close();
}

void load::take_what_stays(prng random) {
    for (int way = 0; way < ways_to_start_a_program; ++way) start_a_program(books_, random.split(), way);
    forget_a_running_program();
    write_and_read_a_file(books_, random.split(), folder_, ++files_);
    wait_group all;
    latch all_block(visitors);
    for (int i = 0; i < visitors; ++i) {
        all.go([&] { blocking(hand_off::at_once, [&] { all_block.arrive_and_wait(); }); });
    }
    all.wait();
}

void load::go_about(prng random) {
    while (!is_over_) {
        do_something(random);
        if (random.one_in(4)) sleep_for(std::chrono::microseconds(random.below(1000)));
    }
}

// Expensive operations are rare: starting a program takes a thousand times as long as a
// conversation.
void load::do_something(prng& random) {
    prng own = random.split();
    if (random.one_in(400)) return start_a_program(books_, own, own.below(ways_to_start_a_program));
    if (random.one_in(200)) return impatient_.be_slow_there(books_, own);
    switch (random.below(24)) {
        case 0:
            return udp_.ask(books_, own);
        case 1:
            return send_datagrams(books_, own);
        case 2:
        case 3:
            return watch_a_pipe(books_, own);
        case 4:
        case 5:
            return use_a_number_again(books_, own, numbers_used_again_);
        case 6:
            if (own.one_in(4)) look_a_name_up(books_, own);
            return;
        case 7:
            if (own.one_in(2)) write_and_read_a_file(books_, own, folder_, ++files_);
            return;
        case 8:
            if (own.one_in(2)) get_a_signal(books_, own);
            return;
        case 9:
            if (own.one_in(4)) be_in_the_way(books_, own);
            return;
#if WEFT_TEST_WITH_TLS
        case 10:
        case 11:
            return visit(books_, tls_, own);
#endif
        default:
            return own.one_in(2) ? visit(books_, tcp_, own) : visit(books_, local_, own);
    }
}

template <typename Kind>
void load::open_again(house<Kind>& h, prng random) {
    while (!is_over_) {
        sleep_for(std::chrono::milliseconds(20 + random.below(200)));
        h.close();
        if (random.one_in(3)) sleep_for(std::chrono::microseconds(random.below(3000)));
        h.open(random.split());
        ++houses_opened_again_;
    }
}

void load::change_procs(runtime& rt, prng random) {
    while (!is_over_) {
        sleep_for(std::chrono::milliseconds(10 + random.below(100)));
        rt.set_max_procs(1 + static_cast<unsigned>(random.below(4)));
    }
}

}  // namespace weft::test
