// connection.h: one connection to NATS servers: libnats does the protocol, on threads of its own.
//
// Threads and calls:
//
//     green and plain threads   send(), request() … ; calls of libnats that may block their thread
//                               (a full socket) go through weft::blocking
//     a thread of libnats       on_…(); these never wait
//
// libnats calls back until its closed callback has run. ~connection waits for that, so callbacks
// may hold a plain pointer to the connection.
//
// Answers to requests come to one subscription, to PREFIX.*; the last part is the number of the
// request. A disconnection ends the requests that wait, because their answers may be lost.
//
// Threads: any, any number at once.
#pragma once

#include <nats/nats.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <weft/blocking.h>
#include <weft/chan.h>
#include <weft/event.h>
#include <weft/mutex.h>
#include <weft/nats/client.h>

namespace weft::nats::detail {

class inbox;

// Throws std::system_error for a status of libnats that is not NATS_OK. what names the call.
void check(natsStatus s, std::string_view what);

// Copies a message of libnats.
[[nodiscard]] message copied(natsMsg* m);

// Whether the server itself has sent it ("Status" in its header): 503, no responders.
[[nodiscard]] int status_of(const message& m) noexcept;

class connection : public std::enable_shared_from_this<connection> {
public:
    // Connects. Throws as client's constructor.
    [[nodiscard]] static std::shared_ptr<connection> open(client_options how);

    // Closes it. Not interrupted.
    ~connection();

    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    void send(const message& m);
    [[nodiscard]] message request(message m);
    void flush();

    // A subject that no other connection has, for subscriptions of this one.
    [[nodiscard]] std::string unique_subject();

    // Subscribes. The messages go into the inbox.
    [[nodiscard]] std::shared_ptr<inbox> subscribe(const std::string& subject,
                                                   const std::string& queue,
                                                   std::size_t capacity);

    [[nodiscard]] const recv_chan<connection_event>& events() const noexcept { return events_to_read_; }

    // Waits for a lock of libnats, which a thread that writes to a full socket holds.
    [[nodiscard]] bool is_connected() const noexcept {
        return weft::blocking([this] { return natsConnection_Status(handle_) == NATS_CONN_STATUS_CONNECTED; });
    }

    [[nodiscard]] const client_options& how() const noexcept { return how_; }

private:
    using answer = chan<message>;

    explicit connection(client_options how);

    void connect();
    void fail_waiting() noexcept;
    [[nodiscard]] message answer_to(message m);
    void on_answer(message m);
    void on_event(connection_event e) noexcept;

    static void answered(natsConnection* c, natsSubscription* s, natsMsg* m, void* of) noexcept;
    static void answers_completed(void* of) noexcept;
    static void disconnected(natsConnection* c, void* of) noexcept;
    static void reconnected(natsConnection* c, void* of) noexcept;
    static void closed(natsConnection* c, void* of) noexcept;

    const client_options how_;
    const chan<connection_event> events_{16};
    const recv_chan<connection_event> events_to_read_{events_};
    std::string prefix_;  // of answers
    natsConnection* handle_ = nullptr;
    natsSubscription* answers_ = nullptr;
    weft::event is_closed_;        // the last callback of handle_ has come
    weft::event no_more_answers_;  // the same of answers_
    std::atomic<uint64_t> last_number_{0};
    weft::mutex lock_;
    std::map<std::string, answer, std::less<>> waiting_;  // guarded by lock_; by the subject of the answer
};

// What the callbacks of a subscription write to. libnats may still call after the end of a
// subscription; so it keeps a reference of its own, until it says that it is done.
struct arrivals {
    explicit arrivals(std::size_t capacity) : messages(capacity), to_read(messages) {}

    const chan<message> messages;
    const recv_chan<message> to_read;
    std::atomic<uint64_t> dropped{0};

    // Any number of times.
    void close() noexcept {
        if (!is_closed.exchange(true)) messages.close();
    }

    std::atomic<bool> is_closed{false};
};

// Messages of a subscription, for green threads.
class inbox {
public:
    explicit inbox(std::size_t capacity) : arrivals_(std::make_shared<arrivals>(capacity)) {}

    // Unsubscribes.
    ~inbox() { close(); }

    inbox(const inbox&) = delete;
    inbox& operator=(const inbox&) = delete;

    [[nodiscard]] const recv_chan<message>& messages() const noexcept { return arrivals_->to_read; }

    [[nodiscard]] uint64_t dropped() const noexcept {
        return arrivals_->dropped.load(std::memory_order_relaxed);  // a count, which orders nothing
    }

    [[nodiscard]] const std::string& subject() const noexcept { return subject_; }

    void close() noexcept;

private:
    friend class connection;

    static void arrived(natsConnection* c, natsSubscription* s, natsMsg* m, void* of) noexcept;
    static void completed(void* of) noexcept;

    const std::shared_ptr<arrivals> arrivals_;
    std::shared_ptr<connection> on_;
    std::string subject_;
    natsSubscription* handle_ = nullptr;
    std::atomic<bool> is_closed_{false};
};

}  // namespace weft::nats::detail
