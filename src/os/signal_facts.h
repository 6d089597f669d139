// signal_facts.h: what systems differ in about signals: part of the porting contract.
//
// Threads: any thread; was_sent also in a signal handler.
#pragma once

#include <csignal>
#include <cstddef>
#include <string_view>

namespace weft::detail::os {

// Whether programs may use the signal: it exists, and the C library does not need it.
[[nodiscard]] bool is_for_programs(int signal) noexcept;

// By kill(), raise() or similar: nothing was accessed.
[[nodiscard]] bool was_sent(const siginfo_t& info) noexcept;

// The registers that the system puts on the stack of a handler, in bytes.
[[nodiscard]] std::size_t signal_frame_size() noexcept;

struct named_signal {
    std::string_view name;
    int number;
};

// A signal that this system has beside those of POSIX.
extern const named_signal own_signal;

}  // namespace weft::detail::os
