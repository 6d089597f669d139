// outside_poller.h: the poller of plain threads, which wait for files without a runtime.
//
// A file that is in no runtime's poller is added to this one. Its thread starts when first needed,
// readies the waiters of its events, and is never joined.
//
// Rejected:
// - The default runtime's poller: a program may have none, or stop it.
// - Waiting in poll(2): close() could not wake it.
//
// Threads: any.
// See:     docs/netpoll.md
#pragma once

#include "netpoll/poll_desc.h"

namespace weft::detail {

// Called by a user of d. Returns 0 or an errno value.
[[nodiscard]] int add_to_outside_poller(poll_desc& d) noexcept;

// Opens the backend and starts its thread if needed. nullptr: error says why.
[[nodiscard]] poll_backend* outside_backend(int& error) noexcept;

// Called in a fork child.
void forget_outside_poller() noexcept;

}  // namespace weft::detail
