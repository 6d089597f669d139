// net.h: sockets whose calls block only the calling green thread; waits for foreign descriptors.
//
//     run_socket_t* listener;
//     run_tcp_listen("127.0.0.1:8080", &listener, NULL);
//     for (run_socket_t* c; run_socket_accept(listener, &c, NULL) == RUN_OK;) run_spawn(serve, c);
//
// If the system reports an error, a call returns RUN_SYSTEM and, if error is not NULL, errno's
// value in *error (0 with every other status). Calls are cancellation points where they wait:
// RUN_CANCELLED, RUN_EXPIRED. RUN_TIMEOUT: the socket's own deadline has passed. RUN_CLOSED: some
// thread has called run_socket_close. RUN_INVALID: the wrong kind of socket for this call. One
// green thread may read while another writes.
//
// Addresses are text: "127.0.0.1:80", "[::1]:80", ":80" for every address of this machine; for a
// Unix socket a path, or "@name" for an abstract one.
//
// See: docs/c_api.md, docs/sockets.md
#pragma once

#include <weft/run/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A connection, a listener, or a UDP socket.
typedef struct run_socket run_socket_t;

// Enough for every address that run_socket_address and run_udp_receive write, including its
// terminating 0.
#define RUN_ADDRESS_MAX 128

// ---- Making. The caller owns *made and must free it; NULL on failure.

run_status_t run_tcp_listen(const char* at, run_socket_t** made, int* error) RUN_NOEXCEPT;
run_status_t run_unix_listen(const char* at, run_socket_t** made, int* error) RUN_NOEXCEPT;

/// Connects to the first address that answers. to: a name or an address, with a port.
/// RUN_NOT_FOUND: the name does not exist.
run_status_t run_tcp_dial(const char* to, run_socket_t** made, int* error) RUN_NOEXCEPT;
run_status_t run_unix_connect(const char* to, run_socket_t** made, int* error) RUN_NOEXCEPT;

run_status_t run_udp_bind(const char* at, run_socket_t** made, int* error) RUN_NOEXCEPT;

/// Waits for a connection.
run_status_t run_socket_accept(run_socket_t* listener, run_socket_t** made, int* error) RUN_NOEXCEPT;

// ---- Connections. *count may be NULL.

/// Reads what is available, at least a byte, and sets *count; 0: the peer will send no more, or
/// size is 0.
run_status_t run_socket_read_some(run_socket_t* s, void* into, size_t size, size_t* count, int* error) RUN_NOEXCEPT;

/// Reads size bytes; *count is less if the stream ends first, or on error.
run_status_t run_socket_read(run_socket_t* s, void* into, size_t size, size_t* count, int* error) RUN_NOEXCEPT;

/// Writes all; on error, *count bytes had been accepted.
run_status_t run_socket_write(run_socket_t* s, const void* from, size_t size, size_t* count, int* error) RUN_NOEXCEPT;

/// Signals the end to the peer; data that it still sends can be read.
run_status_t run_socket_shutdown_send(run_socket_t* s, int* error) RUN_NOEXCEPT;

// ---- Datagrams. to and from: addresses. *count: the bytes in into; *cut, which may be NULL:
// whether the datagram was longer.

run_status_t run_udp_send(run_socket_t* s, const void* data, size_t size, const char* to, int* error) RUN_NOEXCEPT;
run_status_t run_udp_receive(run_socket_t* s,
                             void* into,
                             size_t size,
                             size_t* count,
                             bool* cut,
                             char from[RUN_ADDRESS_MAX],
                             int* error) RUN_NOEXCEPT;

// ---- All sockets.

/// Calls give up timeout_ns from now, including those that already wait; RUN_FOREVER: never. Zero
/// or less: at once.
run_status_t run_socket_set_timeout(run_socket_t* s, int64_t timeout_ns) RUN_NOEXCEPT;

/// Its own address, or that of its peer.
run_status_t run_socket_address(run_socket_t* s, bool of_peer, char address[RUN_ADDRESS_MAX], int* error) RUN_NOEXCEPT;

/// The descriptor, for other options; -1: closed, or NULL.
int run_socket_fd(run_socket_t* s) RUN_NOEXCEPT;

/// Wakes all waiters with RUN_CLOSED; later calls return it too. Any thread, any number of times.
run_status_t run_socket_close(run_socket_t* s) RUN_NOEXCEPT;

/// Closes and frees it. No other thread may use it. Accepts NULL.
void run_socket_free(run_socket_t* s) RUN_NOEXCEPT;

// ---- Foreign descriptors.

enum { RUN_READABLE = 1, RUN_WRITABLE = 2 };

/// Waits until fd is readable or writable, as given by events, without consuming anything. *ready,
/// which may be NULL: which of them. See weft/wait_fd.h.
run_status_t run_wait_fd(int fd, unsigned events, int64_t timeout_ns, unsigned* ready, int* error) RUN_NOEXCEPT;

/// A descriptor for cases of run_select (select.h: run_readable_case, run_writable_case). Free it
/// before the descriptor is closed, while no thread waits. run_watch_free accepts NULL.
typedef struct run_watch run_watch_t;
run_status_t run_watch_make(int fd, run_watch_t** made, int* error) RUN_NOEXCEPT;
void run_watch_free(run_watch_t* watch) RUN_NOEXCEPT;

#ifdef __cplusplus
}
#endif
