// books.h: counts of the operations that began, and of how each ended.
//
// Every operation of the load is entered when it begins. It reports once how it ended and which
// ends were expected. An unexpected end, bytes that were never sent, and an operation that never
// ends are mistakes. All are counted, and the first ones are printed when they happen.
//
// Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

namespace weft::test {

// The kinds of operations.
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

// How an operation can end.
enum class outcome : uint8_t {
    done,       // completely, with every byte right
    cut,        // the peer disconnected in the middle
    timed_out,  // a deadline of the socket, or around the caller
    cancelled,  // by the scope around it
    closed,     // by another green thread of this side
    refused,    // no socket listened
    lost,       // datagrams, on every try
    count
};

// A set of outcomes.
using outcomes = uint32_t;

[[nodiscard]] constexpr outcomes just(outcome o) noexcept { return outcomes{1} << static_cast<unsigned>(o); }

[[nodiscard]] constexpr outcomes either(outcome a, outcome b) noexcept { return just(a) | just(b); }

class books {
public:
    void began(errand what) noexcept { ++row(what).began; }

    // Records an end, expected or not. ec is for the message.
    void ended(errand what, outcome how, outcomes expected, const std::error_code& ec);

    // Counts a mistake. Prints it if it is one of the first.
    void mistake(errand what, const std::string& said);

    // While no operation runs, all that began must have ended. Otherwise this is a mistake.
    void check_all_ended();

    [[nodiscard]] uint64_t operations() const noexcept;

    [[nodiscard]] uint64_t mistakes() const noexcept { return mistakes_; }

    // Prints a table: how often each errand ended in each way.
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

// What an error means for the operation that got it. outcome::count: it is unknown here.
[[nodiscard]] outcome outcome_of(const std::error_code& ec) noexcept;

// One operation, from its beginning to its end. Destroying one that has not ended is a mistake.
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

    // ec: the error, if any.
    void ends(const std::error_code& ec, outcomes expected) { ends(outcome_of(ec), expected, ec); }

    void mistake(const std::string& said) { books_.mistake(what_, said); }

private:
    books& books_;
    const errand what_;
    bool has_ended_ = false;
};

}  // namespace weft::test
