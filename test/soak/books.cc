#include "soak/books.h"

#include <cstdio>

#include <weft/weft.h>

namespace weft::test {

namespace {

constexpr std::array<const char*, static_cast<std::size_t>(errand::count)> errand_names = {
    "TCP client",  "TCP server",  "Unix client", "Unix server",   "TLS client",    "TLS server",
    "slow client", "slow server", "UDP",         "Unix datagram", "watched fd",    "fd number",
    "name",        "file",        "program",     "signal",        "blocking call",
};

constexpr std::array<const char*, static_cast<std::size_t>(outcome::count)> outcome_names = {
    "done", "cut", "timed out", "cancelled", "closed", "refused", "lost",
};

constexpr uint64_t most_printed = 20;

const char* name_of(errand what) { return errand_names[static_cast<std::size_t>(what)]; }

// Codes of weft::tls::errc, which may not be built: the peer disconnected without close_notify,
// before or after the handshake.
bool is_cut_off(const std::error_code& ec) noexcept {
    return std::string_view(ec.category().name()) == "weft.tls" && (ec.value() == 1 || ec.value() == 2);
}

}  // namespace

outcome outcome_of(const std::error_code& ec) noexcept {
    if (!ec) return outcome::done;
    if (ec == errc::closed) return outcome::closed;
    if (ec == errc::timed_out) return outcome::timed_out;
    if (ec == errc::cancelled) return outcome::cancelled;
    // The last of these comes from shutdown_send().
    if (ec == std::errc::connection_reset || ec == std::errc::broken_pipe || ec == std::errc::not_connected ||
        is_cut_off(ec))
        return outcome::cut;
    // All ports are taken by connections that were closed in the last minute, or the path of a
    // listener is gone.
    if (ec == std::errc::connection_refused || ec == std::errc::address_not_available ||
        ec == std::errc::no_such_file_or_directory)
        return outcome::refused;
    return outcome::count;
}

uint64_t books::line::all_ended() const noexcept {
    uint64_t sum = 0;
    for (const std::atomic<uint64_t>& n : ended) sum += n;
    return sum;
}

void books::ended(errand what, outcome how, outcomes expected, const std::error_code& ec) {
    if (how == outcome::count) {
        mistake(what, "has failed: " + ec.message());
        how = outcome::cut;  // a failure must count as some outcome
    } else if ((just(how) & expected) == 0) {
        mistake(what, std::string("has ended unexpectedly: ") + outcome_names[static_cast<std::size_t>(how)] + ", " +
                          ec.message());
    }
    ++row(what).ended[static_cast<std::size_t>(how)];
}

void books::mistake(errand what, const std::string& said) {
    if (++mistakes_ > most_printed) return;
    std::printf("soak: MISTAKE: %s: %s\n", name_of(what), said.c_str());
    std::fflush(stdout);
}

void books::check_all_ended() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        const uint64_t began = lines_[i].began;
        const uint64_t ended = lines_[i].all_ended();
        if (began == ended) continue;
        mistake(static_cast<errand>(i), std::to_string(began) + " have begun, and " + std::to_string(ended) + " ended");
    }
}

uint64_t books::operations() const noexcept {
    uint64_t sum = 0;
    for (const line& l : lines_) sum += l.all_ended();
    return sum;
}

void books::print() const {
    std::printf("%-14s%10s", "", "begun");
    for (const char* name : outcome_names) std::printf("%10s", name);
    std::printf("\n");
    for (std::size_t i = 0; i < lines_.size(); ++i) {
        std::printf("%-14s%10llu", errand_names[i], static_cast<unsigned long long>(lines_[i].began));
        for (const std::atomic<uint64_t>& n : lines_[i].ended)
            std::printf("%10llu", static_cast<unsigned long long>(n));
        std::printf("\n");
    }
}

}  // namespace weft::test
