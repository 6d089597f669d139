// signal_facts_bsd.cc: see signal_facts.h.
#include "os/signal_facts.h"

namespace weft::detail::os {

namespace {

constexpr int last_of_programs = 31;  // FreeBSD's C library has the next two; its real-time signals begin at 65

}  // namespace

constinit const named_signal own_signal = {"INFO", SIGINFO};

bool is_for_programs(int signal) noexcept { return signal >= 1 && signal <= last_of_programs; }

// The codes of kill() and others lie far above those of faults.
bool was_sent(const siginfo_t& info) noexcept {
    constexpr int first_sent = 0x10000;
    return info.si_code <= 0 || info.si_code > first_sent;
}

// Enough for all vector registers; the systems do not say it.
std::size_t signal_frame_size() noexcept { return 16 * std::size_t{1024}; }

}  // namespace weft::detail::os
