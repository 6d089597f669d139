// http2_session.h: one connection of HTTP/2, by nghttp2: many requests at a time.
//
// Problem. nghttp2 parses and makes frames, and keeps the windows of flow control. It does no I/O,
// and its session must not be used by two threads at once. Handlers read and write bodies at any
// time, from any thread, and must wait if their client is slow, without delaying other streams.
//
// Rejected: - Each handler writes to the socket what is pending. It would write the bytes of other
//             streams, and could be cancelled within a frame.
//           - A green thread that owns the session and gets messages from the others. Each message
//             would be a copy and two switches; the lock costs less.
//           - A copy of each response body, so that write() returns at once. It needs a limit, and
//             a wait, all the same.
//
// Protocol. The connection's scope has these green threads:
//
//   reader    reads from the socket, and gives the bytes to nghttp2. Starts a green thread for each
//             request whose header is complete. Reads on only if few frames wait to be sent: a
//             client that asks for answers (PING, SETTINGS) and does not read them is not read.
//   writer    takes frames from nghttp2, up to batch_max bytes, and writes them by one system call.
//             Only it writes to the socket.
//   streams   run handlers (http2_stream.h). A handler that writes lends its memory until the
//             writer has copied all of it to a batch, so it waits if a window is used up. A handler
//             that reads enlarges the client's windows by what it has read.
//
// So a connection keeps at most: one batch; for each stream, the unread part of its body, which the
// stream's window bounds, and all of them the connection's window; and queue_max control frames.
//
// End. The thread that finds that nothing more will be read or written sets is_over_, under lock_.
// All streams are then closed, and their handlers cancelled.
//
//   the client has gone, or an error of the socket   is_over_ at once
//   an error of the client, or a limit               GOAWAY with its code, then is_over_
//   the server ends       GOAWAY for all streams, and a PING. At its answer, or after drain_time:
//                         GOAWAY with the last stream. When all streams have ended: is_over_
//
// Deadlines. The reader's deadline may be earlier than needed: it then computes it again. So it is
// moved at most once in idle_time while requests come.
//
// Locks: the server's table, a place's, then lock_ or deadline_lock_; never both of these.
#pragma once

#include <nghttp2/nghttp2.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <weft/condition_variable.h>
#include <weft/http/detail/transport.h>
#include <weft/mutex.h>
#include <weft/scope.h>

#include "http/date.h"
#include "http/http2_stream.h"
#include "http/input.h"
#include "http/rate_limit.h"
#include "http/server_state.h"
#include "http/upgrade.h"

namespace weft::http::detail {

class http2_session final : public drain_hook {
public:
    static constexpr std::size_t sent_header_max = std::size_t{1} << 20;  // nghttp2's default is 64 KiB

    http2_session(server_state& server, transport& client, input& in, std::string_view peer);
    ~http2_session() = default;

    // As serve_http2().
    [[nodiscard]] bool serve();

    void drain() noexcept override;
    void cut_off() noexcept override;

private:
    friend class http2_stream;
    friend struct http2_callbacks;

    using clock = std::chrono::steady_clock;
    using locked = std::unique_lock<weft::mutex>;

    enum class drain_step : uint8_t { none, announced, last };

    static constexpr std::size_t batch_max = std::size_t{64} * 1024;
    static constexpr std::size_t batch_kept = std::size_t{4} * 1024;  // while nothing is sent
    static constexpr std::size_t read_max = std::size_t{64} * 1024;
    static constexpr std::size_t queue_max = 256;  // frames, without DATA
    static constexpr int32_t window = 1 << 20;     // of the connection, in bytes
    static constexpr std::size_t header_max_factor = 8;

    struct deleter {
        void operator()(nghttp2_session* s) const noexcept { nghttp2_session_del(s); }
    };

    void begin();

    // ---- The reader.
    void read_on(weft::task_scope& streams);
    [[nodiscard]] bool await_room();
    [[nodiscard]] bool read_more();
    void take_input();
    void start_ready(weft::task_scope& streams);
    void lose(bool is_end);
    void act_on_time_locked(clock::time_point now);
    [[nodiscard]] clock::time_point deadline_locked(clock::time_point now) const;
    [[nodiscard]] bool set_deadline(clock::time_point when, clock::time_point now);

    // ---- The writer.
    void write_on();
    void fill_batch_locked();
    void write_batch(std::error_code& ec);

    // ---- With lock_ held.
    void end_locked();
    void terminate_locked(uint32_t code);
    void reset_locked(int32_t stream, uint32_t code);
    void announce_end_locked(clock::time_point now);
    void refuse_new_locked();

    [[nodiscard]] bool has_started_locked() const noexcept { return !streams_.empty() || !ready_.empty(); }

    // Something may have to be sent.
    void wake_writer_locked() noexcept {
        is_writer_idle_ = false;
        to_write_.notify_one();
    }

    // A stream's green thread has ended.
    void leave_locked(http2_stream& s) noexcept;

    void wake_reader() noexcept;

    server_state& server_;
    transport& client_;
    const std::string peer_;
    std::atomic<bool> is_draining_ = false;

    // The reader only.
    input& in_;
    std::size_t read_size_ = input::least;  // more while the client fills it

    // The writer only, and with lock_ held.
    std::string batch_;
    std::chrono::nanoseconds write_time_left_{0};
    std::size_t written_in_time_ = 0;

    weft::mutex lock_;
    weft::condition_variable to_write_;  // the writer waits
    weft::condition_variable changed_;   // the reader waits
    // Guarded by lock_.
    std::unique_ptr<nghttp2_session, deleter> native_;
    std::shared_ptr<http2_stream> building_;            // whose header is being read
    std::vector<std::shared_ptr<http2_stream>> ready_;  // to be started
    std::unordered_set<http2_stream*> streams_;         // that have a green thread
    std::size_t unfinished_ = 0;                        // of ready_ and streams_: the response has not ended
    date_cache date_;
    clock::time_point began_;
    clock::time_point header_began_;
    clock::time_point idle_since_;
    clock::time_point announced_until_;
    drain_step drain_ = drain_step::none;
    rate_limit resets_;
    rate_limit pointless_;
    bool has_settings_ = false;
    bool is_writer_idle_ = false;
    bool is_terminating_ = false;  // GOAWAY, and then the end
    bool is_over_ = false;
    bool may_come_more_ = false;

    weft::mutex deadline_lock_;
    // Guarded by deadline_lock_.
    clock::time_point armed_until_;
    bool is_woken_ = false;
};

}  // namespace weft::http::detail
