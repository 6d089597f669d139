// signal_facts_linux.cc: see signal_facts.h.
#include <sys/auxv.h>

#include "os/signal_facts.h"

// Newer than some headers.
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

namespace weft::detail::os {

constinit const named_signal own_signal = {"PWR", SIGPWR};

bool is_for_programs(int signal) noexcept {
    return signal >= 1 && signal <= 64 && (signal <= SIGSYS || signal >= SIGRTMIN);
}

bool was_sent(const siginfo_t& info) noexcept { return info.si_code <= 0; }

std::size_t signal_frame_size() noexcept { return getauxval(AT_MINSIGSTKSZ); }

}  // namespace weft::detail::os
