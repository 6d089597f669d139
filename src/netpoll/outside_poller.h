// outside_poller.h: the poller of plain threads, which wait for files without a runtime.
//
// A plain thread that waits for a file sleeps on its note, as for any other wait. If the file is in
// no poller yet, no runtime's Ms fetch its events, so it is added to this poller. Its own thread
// starts when first needed, blocks in its backend for ever, readies any waiter of its events, and
// is never joined.
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

// Ensures that events of d are delivered. By a user of d. Returns 0 or an errno value.
[[nodiscard]] int add_to_outside_poller(poll_desc& d) noexcept;

// Its backend; opens it and starts its thread if needed. nullptr: error says why.
[[nodiscard]] poll_backend* outside_backend(int& error) noexcept;

// Called in a fork child, where the poller does not exist.
void forget_outside_poller() noexcept;

}  // namespace weft::detail
