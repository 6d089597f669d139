// outside_poller.h: the poller of those who wait for files and have no runtime: plain threads.
//
// A plain thread that waits for a file sleeps on its note, like one that waits for anything else. If the file is not added to a poller yet, there
// is no runtime whose Ms would fetch its events; so it is added to this one, which has a thread of its own. That thread is started when it is
// first needed, sleeps in its backend for ever, and makes ready whom its events concern, whoever they are. It is never joined.
//
// Rejected. The default runtime's poller: a program may have none, or stop it. Waiting in poll(2): close() could not wake it.
//
// Who: any thread.
// See: docs/netpoll.md
#pragma once

#include "poll/poll_desc.h"

namespace weft::detail {

// Sees to it that events of d come, if they do not already. By a user of d. Returns 0 or an errno value.
[[nodiscard]] int add_to_outside_poller(poll_desc& d) noexcept;

// Its backend, opened and with its thread if need be. nullptr: error says why.
[[nodiscard]] poll_backend* outside_backend(int& error) noexcept;

// In the child of a fork: there is none.
void forget_outside_poller() noexcept;

}  // namespace weft::detail
