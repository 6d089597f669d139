// books.h: what was begun, and how each of it has ended.
//
// Every operation of the load is entered when it begins, and says once how it has ended and which ends were to be expected. What ends otherwise,
// what comes with bytes that nobody has sent, and what never ends is a mistake: the first ones are printed when they happen, all are counted.
//
// Who: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

namespace weft::test {

// What there is to do.
enum class errand : uint8_t {
    tcp_client,
    tcp_server,
    unix_client,
    unix_server,
    tls_client,
    tls_server,
    slow_client,
    slow_server,
    udp,
    datagram,
    watch,
    number,
    name,
    file,
    program,
    signal,
    call,
    count
};

// How it may end.
enum class outcome : uint8_t {
    done,       // all of it, and every byte was right
    cut,        // the other side has gone in the middle
    timed_out,  // a deadline of the socket, or around the caller
    cancelled,  // by the scope around it
    closed,     // here, by another green thread
    refused,    // nobody listened
    lost,       // datagrams, each time
    count
};

// Some of them.
using outcomes = uint32_t;

[[nodiscard]] constexpr outcomes just(outcome o) noexcept { return outcomes{1} << static_cast<unsigned>(o); }

[[nodiscard]] constexpr outcomes either(outcome a, outcome b) noexcept { return just(a) | just(b); }

class books {
public:
    void began(errand what) noexcept { ++row(what).began; }

    // Ended, as expected or not. ec: for the message.
    void ended(errand what, outcome how, outcomes expected, const std::error_code& ec);

    // Something is wrong. Prints it, if it is one of the first.
    void mistake(errand what, const std::string& said);

    // What must be so while nothing is under way: all that began has ended. Otherwise that is a mistake.
    void check_all_ended();

    [[nodiscard]] uint64_t operations() const noexcept;

    [[nodiscard]] uint64_t mistakes() const noexcept { return mistakes_; }

    // A table: how often each errand has ended in each way.
    void print() const;

private:
    struct line {
        std::atomic<uint64_t> began{0};
        std::array<std::atomic<uint64_t>, static_cast<std::size_t>(outcome::count)> ended{};

        [[nodiscard]] uint64_t all_ended() const noexcept;
    };

    [[nodiscard]] line& row(errand what) noexcept { return lines_[static_cast<std::size_t>(what)]; }

    std::array<line, static_cast<std::size_t>(errand::count)> lines_;
    std::atomic<uint64_t> mistakes_{0};
};

// What an error means for who has met it: outcome::count, nothing that is known here.
[[nodiscard]] outcome outcome_of(const std::error_code& ec) noexcept;

// One operation, from its beginning to its end. One that goes without an end is a mistake.
class operation {
public:
    operation(books& all, errand what) noexcept : books_(all), what_(what) { all.began(what); }

    ~operation() {
        if (!has_ended_) books_.mistake(what_, "has ended in no way");
    }

    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    void ends(outcome how, outcomes expected, const std::error_code& ec = {}) {
        has_ended_ = true;
        books_.ended(what_, how, expected, ec);
    }

    // With an error, or none.
    void ends(const std::error_code& ec, outcomes expected) { ends(outcome_of(ec), expected, ec); }

    void mistake(const std::string& said) { books_.mistake(what_, said); }

private:
    books& books_;
    const errand what_;
    bool has_ended_ = false;
};

}  // namespace weft::test
