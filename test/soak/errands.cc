#include "soak/errands.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <weft/fs.h>
#include <weft/net/resolve.h>
#include <weft/process.h>
#include <weft/signals.h>
#include <weft/wait_fd.h>

#include "support/connections.h"
#include "support/eventually.h"
#include "support/scale.h"
#include "support/temp_folder.h"
#include "support/two_ends.h"

namespace weft::test {

using namespace std::chrono_literals;
using net::const_buffer;
using net::mutable_buffer;

namespace {

std::string a_datagram(uint64_t key, std::size_t size) {
    std::string d(sizeof(key), '\0');
    std::memcpy(d.data(), &key, sizeof(key));
    return d + secret_bytes(key, 0, size);
}

// The sender's key of a datagram, after checking its bytes.
uint64_t key_of(const std::string& datagram, operation& what) {
    uint64_t key = 0;
    if (datagram.size() < sizeof(key)) {
        what.mistake("a datagram that nobody has sent");
        return 0;
    }
    std::memcpy(&key, datagram.data(), sizeof(key));
    if (!are_secret_bytes(datagram.data() + sizeof(key), datagram.size() - sizeof(key), key, 0))
        what.mistake("bytes that nobody has sent");
    return key;
}

}  // namespace

// ---- UDP.

void udp_echo::open() {
    socket_ = net::udp_socket(net::endpoint::loopback(0));
    address_ = socket_.local_endpoint();
    for (int i = 0; i < 2; ++i) {
        serving_.go([this] {
            std::string b(10'000, ' ');
            std::error_code ec;
            while (ec != errc::closed) {
                const auto got = socket_.receive(b, ec);
                if (!ec) socket_.send_to(const_buffer(b.data(), got.size), got.from, ec);
            }
        });
    }
}

void udp_echo::close() {
    socket_.close();
    serving_.wait();
}

void udp_echo::ask(books& all, prng random) const {
    operation what(all, errand::udp);
    net::udp_socket s = net::udp_socket::connected_to(address_);
    const uint64_t key = random.next();
    const std::string sent = a_datagram(key, static_cast<std::size_t>(random.below(8000)));
    std::error_code ec;
    for (int tries = 0; tries < 3; ++tries) {
        s.send(sent, ec);
        if (ec) break;
        s.set_read_deadline(std::chrono::steady_clock::now() + 300ms);
        std::string b(10'000, ' ');
        // A late datagram belongs to an earlier try, or to the previous owner of this port.
        for (;;) {
            const auto got = s.receive(b, ec);
            if (ec) break;
            if (key_of(b.substr(0, got.size), what) != key) continue;
            if (got.size != sent.size()) what.mistake("a datagram that was cut");
            return what.ends(outcome::done, just(outcome::done));
        }
        if (ec != errc::timed_out) break;
        ec.clear();
    }
    ec ? what.ends(ec, 0) : what.ends(outcome::lost, just(outcome::lost));
}

void send_datagrams(books& all, prng random) {
    operation what(all, errand::datagram);
    auto [near, far] = net::unix_datagram::pair();
    const int count = random.below(100);
    std::error_code sending;
    std::error_code ec;
    wait_group sender;
    sender.go([&, r = random.split()]() mutable {
        for (int i = 0; i < count && !sending; ++i) {
            near.send(a_datagram(static_cast<uint64_t>(i), static_cast<std::size_t>(r.below(2000))), sending);
        }
    });
    std::string b(5000, ' ');
    for (int i = 0; i < count && !ec; ++i) {
        if (random.one_in(20)) yield();
        const auto got = far.receive(b, ec);
        if (!ec && key_of(b.substr(0, got.size), what) != static_cast<uint64_t>(i)) what.mistake("another datagram");
    }
    sender.wait();
    what.ends(ec ? ec : sending, just(outcome::done));
}

// ---- Slow clients.

namespace {

constexpr auto patience_with_the_slow = 20ms;

template <typename Stream>
void serve_in_time(books& all, Stream s) {
    operation what(all, errand::slow_server);
    s.set_deadline(std::chrono::steady_clock::now() + patience_with_the_slow);
    std::array<char, 512> request;
    std::error_code ec;
    if (s.read(request, ec) == request.size()) what.mistake("somebody was fast");
    what.ends(ec, just(outcome::timed_out));
}

template <typename Stream>
void be_slow(operation& what, Stream s, prng random) {
    std::error_code ec;
    char b[1];
    const bool is_silent = random.one_in(2);
    while (!is_silent && !ec) {
        s.write_all("x", ec);
        sleep_for(1ms);
    }
    if (!ec && s.read_some(b, ec) != 0) what.mistake("it is served");
    what.ends(ec ? outcome_of(ec) : outcome::cut, just(outcome::cut), ec);
}

}  // namespace

void impatient_house::open(books& all) {
    tcp_ = net::tcp_listener(net::endpoint::loopback(0));
    local_ = net::unix_listener(net::unix_address("@weft_soak_slow_" + std::to_string(::getpid())));
    address_ = tcp_.local_endpoint();
    name_ = local_.local_address();
    const auto serve = [this, &all](auto& listener) {
        for (;;) {
            std::error_code ec;
            auto s = listener.accept(ec);
            if (ec) break;
            serving_.go([&all, s = std::move(s)]() mutable { serve_in_time(all, std::move(s)); });
        }
    };
    serving_.go([this, serve] { serve(tcp_); });
    serving_.go([this, serve] { serve(local_); });
}

void impatient_house::close() {
    tcp_.close();
    local_.close();
    serving_.wait();
}

void impatient_house::be_slow_there(books& all, prng random) const {
    operation what(all, errand::slow_client);
    std::error_code ec;
    if (random.one_in(2)) {
        auto s = net::tcp_stream::connect(address_, ec);
        ec ? what.ends(ec, 0) : be_slow(what, std::move(s), random);
    } else {
        auto s = net::unix_stream::connect(name_, ec);
        ec ? what.ends(ec, 0) : be_slow(what, std::move(s), random);
    }
}

// ---- Descriptors.

void watch_a_pipe(books& all, prng random) {
    operation what(all, errand::watch);
    two_ends ends = two_ends::of_pipe(O_CLOEXEC | O_NONBLOCK);
    const int count = 1 + random.below(30);
    const uint64_t key = random.next();
    const bool gives_up = random.one_in(4);
    const chan<int> enough;
    wait_group writer;
    writer.go([&, r = random.split()]() mutable {
        for (int i = 0; i < count; ++i) {
            if (r.one_in(2)) sleep_for(std::chrono::microseconds(r.below(400)));
            const char c = secret_byte(key, static_cast<uint64_t>(i));
            if (::write(ends.write_end(), &c, 1) != 1) what.mistake("a pipe that takes nothing");
        }
        if (gives_up) enough.close();
        if (!gives_up) ends.close_write_end();
    });
    outcome how = outcome::count;
    int got = 0;
    const auto look = [&] {
        char c = 0;
        const ssize_t n = ::read(ends.read_end(), &c, 1);
        if (n == 0) how = outcome::done;
        if (n == 1 && c != secret_byte(key, static_cast<uint64_t>(got++))) what.mistake("a byte that nobody has sent");
    };
    const bool selects = gives_up || random.one_in(2);
    while (selects && how == outcome::count) {
        const watched_fd w(ends.read_end());  // each time a new one: added and removed
        for (int i = 0; i < 8 && how == outcome::count; ++i) {
            select(on_readable(w, look), on_recv(enough, [&](auto) { how = outcome::closed; }), on_timeout(75s, [&] {
                       what.mistake("nothing comes");
                       how = outcome::timed_out;
                   }));
        }
    }
    while (how == outcome::count) {
        wait_fd(ends.read_end(), fd_events::readable);
        look();
    }
    writer.wait();
    if (how == outcome::done && got != count) what.mistake("an end that came too early");
    what.ends(how, just(gives_up ? outcome::closed : outcome::done));
}

void use_a_number_again(books& all, prng random, std::atomic<uint64_t>& times_used_again) {
    operation what(all, errand::number);
    const uint64_t key = random.next();
    auto [near, far] = net::unix_stream::pair();
    const bool other_side_goes = random.one_in(2);
    std::atomic<int> ended = 0;
    wait_group waiting;
    const int number = near.native_handle();
    for (int i = 0; i < 3; ++i) {
        waiting.go([&] {
            char b[1];
            std::error_code ec;
            if (near.read_some(b, ec) != 0) what.mistake("a byte of another socket");
            // A waiter that was about to read may instead find the end of its stream, if there is
            // one.
            if (ec != errc::closed && (ec || !other_side_goes))
                what.mistake("it was closed, and who waits hears: " + ec.message());
            ++ended;
        });
    }
    if (random.one_in(2)) sleep_for(std::chrono::microseconds(random.below(200)));
    near.close();
    auto [next, other] = net::unix_stream::pair();
    if (next.native_handle() == number) ++times_used_again;
    // The end of the previous connection of this number must not be taken for the end of the
    // current one.
    if (other_side_goes) far.close();
    wait_group reader;
    std::error_code ec;
    reader.go([&, &s = next] {
        std::string b(100, ' ');
        if (s.read(b, ec) != b.size() || !are_secret_bytes(b.data(), b.size(), key, 0))
            what.mistake("not what was sent");
    });
    if (random.one_in(2)) sleep_for(std::chrono::microseconds(random.below(200)));
    other.write_all(secret_bytes(key, 0, 100));
    reader.wait();
    waiting.wait();
    if (ended != 3) what.mistake("not all who waited were woken");
    what.ends(ec, just(outcome::done));
}

void look_a_name_up(books& all, prng random) {
    operation what(all, errand::name);
    std::error_code ec;
    std::vector<net::endpoint> found;
    const bool is_short = random.one_in(3);
    const auto look = [&] { found = net::resolve(random.one_in(4) ? "127.0.0.1" : "localhost", 80, ec); };
    is_short ? with_timeout(std::chrono::microseconds(random.below(300)), look) : look();
    if (!ec && found.empty()) what.mistake("no address, and no error");
    what.ends(ec, is_short ? either(outcome::done, outcome::timed_out) : just(outcome::done));
}

// ---- Other operations.

void write_and_read_a_file(books& all, prng random, const std::string& folder, uint64_t number) {
    operation what(all, errand::file);
    const std::string path = folder + "/soak_" + std::to_string(number);
    const uint64_t key = random.next();
    const std::string content =
        secret_bytes(key, 0, static_cast<std::size_t>(random.below(random.one_in(8) ? 200'000 : 5'000)));
    {
        fs::file f(path, {.mode = fs::access::read_write, .create = true, .exclusive = true});
        f.write_all(content);
        std::string b(content.size() / 2 + 1, ' ');
        b.resize(f.pread(b, static_cast<int64_t>(content.size() / 2)));
        if (b != content.substr(content.size() / 2)) what.mistake("a half that nobody has written");
        if (random.one_in(3)) f.sync_data();
        // Writes to a green thread that reads from a socket.
        auto [near, far] = net::unix_stream::pair();
        wait_group reader;
        reader.go([&, &s = far] {
            std::string got(content.size() + 1, ' ');
            got.resize(s.read(got));
            if (got != content) what.mistake("not what is in the file");
        });
        if (near.sendfile(f.native_handle(), 0, content.size()) != content.size()) what.mistake("a file too short");
        near.close();
        reader.wait();
    }
    if (random.one_in(4)) evict(path);
    fs::rename(path, path + "_renamed");
    if (fs::read_file(path + "_renamed") != content) what.mistake("not what was written");
    fs::unlink(path + "_renamed");
    what.ends(outcome::done, just(outcome::done));
}

void start_a_program(books& all, prng random, int way) {
    operation what(all, errand::program);
    outcome how = outcome::done;
    switch (way) {
        case 0: {
            const std::string input = secret_bytes(random.next(), 0, static_cast<std::size_t>(random.below(50'000)));
            const process_output out = run_process({"cat"}, input);
            if (!out.status.ok() || out.out != input) what.mistake("cat: " + out.status.to_string());
            break;
        }
        case 1: {
            process p({"sh", "-c", "exit 7"}, {.in = stdio::null});
            const exit_status s = p.wait();
            if (s.code != 7 || s.signal != 0) what.mistake("exit 7: " + s.to_string());
            break;
        }
        case 2: {
            process p({"sleep", "600"}, {.in = stdio::null, .out = stdio::pipe});
            if (!p.kill(SIGKILL)) what.mistake("nobody to kill");
            const exit_status s = p.wait();
            if (s.signal != SIGKILL) what.mistake("killed: " + s.to_string());
            break;
        }
        case 3:
            try {
                with_timeout(std::chrono::milliseconds(random.below(5)),
                             [] { static_cast<void>(run_process({"sleep", "600"})); });
                what.mistake("a short sleep");
            } catch (const timed_out&) {
                how = outcome::timed_out;
            }
            break;
        default:
            const process forgotten({"true"}, {.in = stdio::null});
            break;
    }
    what.ends(how, either(outcome::done, outcome::timed_out));
}

void forget_a_running_program() { const process forgotten({"sleep", "1"}, {.in = stdio::null}); }

void get_a_signal(books& all, prng random) {
    operation what(all, errand::signal);
    const signals::subscription s = signals::notify({SIGWINCH}, static_cast<std::size_t>(1 + random.below(3)));
    ::kill(::getpid(), SIGWINCH);
    const auto got = s.recv_for(patience());
    if (got.value != SIGWINCH) what.mistake("no signal");
    what.ends(outcome::done, just(outcome::done));
}

void be_in_the_way(books& all, prng random) {
    operation what(all, errand::call);
    const std::chrono::microseconds length(random.below(3000));
    const auto block = [&] { std::this_thread::sleep_for(length); };
    switch (random.below(4)) {
        case 0:
            blocking(block);
            break;
        case 1:
            blocking(hand_off::at_once, block);
            break;
        case 2:
            block();
            break;
        default:
            compute_for(5 * length);  // sometimes longer than a slice
            break;
    }
    what.ends(outcome::done, just(outcome::done));
}

}  // namespace weft::test
