// chan.h: channels of fixed-size elements.
//
// A channel carries copies of elements of elem_size bytes, in the order in which they were sent. An
// unbuffered channel (capacity 0) copies each element directly from the sender's memory to the
// receiver's. A buffered one holds up to capacity elements and blocks senders beyond. Closing wakes
// all waiters: receivers get the buffered elements and then RUN_CLOSED, senders get RUN_CLOSED.
//
// elem_size may be 0, for signals without a value; pointers to values are then not used. Send
// pointers to elements of more than a few hundred bytes, because elements are copied with the
// channel's lock held.
//
// A run_chan_t* is a counted reference: run_chan_make returns one, run_chan_retain adds one,
// run_chan_release removes one. The last release frees the channel and its buffered elements.
// Releasing the last reference while a thread waits on the channel is a fatal error.
//
// Any thread may call all functions. Sends and receives are cancellation points where they wait.
// chan NULL: RUN_INVALID.
//
// See: docs/c_api.md, docs/channels.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct run_chan run_chan_t;

/// Makes a channel. RUN_EXHAUSTED if there is no memory for it, RUN_INVALID if chan is NULL.
run_status_t run_chan_make(run_chan_t** chan, size_t elem_size, size_t capacity) RUN_NOEXCEPT;

/// Add a reference and return chan; remove a reference. NULL is allowed.
run_chan_t* run_chan_retain(run_chan_t* chan) RUN_NOEXCEPT;
void run_chan_release(run_chan_t* chan) RUN_NOEXCEPT;

/// Sends the element at value; waits while the channel is full (unbuffered: until a receiver takes
/// it). RUN_CLOSED if the channel is or becomes closed; RUN_CANCELLED, RUN_EXPIRED. The element was
/// sent if and only if the status is RUN_OK.
run_status_t run_chan_send(run_chan_t* chan, const void* value) RUN_NOEXCEPT;

/// The same without waiting; or RUN_WOULD_BLOCK. The same, waiting at most timeout_ns; or
/// RUN_TIMEOUT.
run_status_t run_chan_try_send(run_chan_t* chan, const void* value) RUN_NOEXCEPT;
run_status_t run_chan_send_for(run_chan_t* chan, const void* value, int64_t timeout_ns) RUN_NOEXCEPT;

/// Receives the oldest element into value; waits while the channel is empty. RUN_CLOSED once the
/// channel is closed and drained; RUN_CANCELLED, RUN_EXPIRED. value is written if and only if the
/// status is RUN_OK; if it is NULL the element is dropped.
run_status_t run_chan_recv(run_chan_t* chan, void* value) RUN_NOEXCEPT;
run_status_t run_chan_try_recv(run_chan_t* chan, void* value) RUN_NOEXCEPT;
run_status_t run_chan_recv_for(run_chan_t* chan, void* value, int64_t timeout_ns) RUN_NOEXCEPT;

/// Closes the channel and wakes all waiters. RUN_CLOSED if it is already closed. O(waiters).
run_status_t run_chan_close(run_chan_t* chan) RUN_NOEXCEPT;

/// Whether it is closed (elements may still be buffered); the number of buffered elements, the
/// capacity, and the element size. Snapshots, because other threads may use the channel. false and
/// 0 for NULL.
bool run_chan_closed(run_chan_t* chan) RUN_NOEXCEPT;
size_t run_chan_len(run_chan_t* chan) RUN_NOEXCEPT;
size_t run_chan_cap(const run_chan_t* chan) RUN_NOEXCEPT;
size_t run_chan_elem_size(const run_chan_t* chan) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
