// chan.h: channels of elements of one size.
//
// A channel carries copies of elements of elem_size bytes, in the order in which they were sent. An unbuffered one (capacity 0) hands each
// element from the sender's memory straight to the receiver's; a buffered one holds up to capacity elements and blocks senders
// beyond. Closing wakes everybody: receivers get what is buffered and then RUN_CLOSED, senders RUN_CLOSED.
//
// elem_size may be 0, for signals that carry nothing: then the pointers to values are not used. For elements of more than a few hundred
// bytes send pointers: they are copied with the channel's lock held.
//
// A run_chan_t* is a counted reference: run_chan_make gives one, run_chan_retain another, run_chan_release takes one back, and the last one
// frees the channel, with what is buffered. To release the last one while somebody waits on the channel is a fatal error.
//
// Any thread may call everything. Sends and receives are cancellation points where they wait. chan NULL: RUN_INVALID.
//
// See: docs/c_api.md, docs/channels.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_chan run_chan_t;

// Makes a channel. RUN_EXHAUSTED if there is no memory for it, RUN_INVALID if chan is NULL.
run_status_t run_chan_make(run_chan_t** chan, size_t elem_size, size_t capacity) RUN_NOEXCEPT;

// One more reference; returns chan. One less. NULL is allowed.
run_chan_t* run_chan_retain(run_chan_t* chan) RUN_NOEXCEPT;
void run_chan_release(run_chan_t* chan) RUN_NOEXCEPT;

// Sends the element at value, waiting while the channel is full (unbuffered: until a receiver takes it). RUN_CLOSED if the channel is
// or becomes closed; RUN_CANCELLED, RUN_EXPIRED. It was sent if and only if the status is RUN_OK.
run_status_t run_chan_send(run_chan_t* chan, const void* value) RUN_NOEXCEPT;

// The same, not waiting at all: or RUN_WOULD_BLOCK. The same, waiting for timeout_ns at most: or RUN_TIMEOUT.
run_status_t run_chan_try_send(run_chan_t* chan, const void* value) RUN_NOEXCEPT;
run_status_t run_chan_send_for(run_chan_t* chan, const void* value, int64_t timeout_ns) RUN_NOEXCEPT;

// Receives the oldest element to value, waiting while there is none. RUN_CLOSED once the channel is closed and drained; RUN_CANCELLED,
// RUN_EXPIRED. value is written if and only if the status is RUN_OK; if it is NULL the element is dropped.
run_status_t run_chan_recv(run_chan_t* chan, void* value) RUN_NOEXCEPT;
run_status_t run_chan_try_recv(run_chan_t* chan, void* value) RUN_NOEXCEPT;
run_status_t run_chan_recv_for(run_chan_t* chan, void* value, int64_t timeout_ns) RUN_NOEXCEPT;

// Closes the channel and wakes all who wait on it. RUN_CLOSED if it is closed already. O(waiters).
run_status_t run_chan_close(run_chan_t* chan) RUN_NOEXCEPT;

// Whether it has been closed; elements may still be buffered. Elements buffered right now, the most there can be, and their size:
// snapshots, as others may be at work. false and 0 for NULL.
bool run_chan_closed(run_chan_t* chan) RUN_NOEXCEPT;
size_t run_chan_len(run_chan_t* chan) RUN_NOEXCEPT;
size_t run_chan_cap(const run_chan_t* chan) RUN_NOEXCEPT;
size_t run_chan_elem_size(const run_chan_t* chan) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
