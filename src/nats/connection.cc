// connection.cc: see connection.h.
#include "nats/connection.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <weft/blocking.h>
#include <weft/cancel.h>
#include <weft/future.h>

namespace weft::nats::detail {

namespace {

errc errc_of(natsStatus s) noexcept {
    switch (s) {
        case NATS_NO_SERVER:
        case NATS_TIMEOUT:
        case NATS_SECURE_CONNECTION_WANTED:
        case NATS_SECURE_CONNECTION_REQUIRED:
        case NATS_SSL_ERROR:
            return errc::could_not_connect;
        case NATS_CONNECTION_AUTH_FAILED:
        case NATS_NOT_PERMITTED:
            return errc::login_refused;
        case NATS_IO_ERROR:
        case NATS_CONNECTION_DISCONNECTED:
        case NATS_STALE_CONNECTION:
            return errc::connection_lost;
        case NATS_INSUFFICIENT_BUFFER:
            return errc::buffer_full;
        case NATS_INVALID_SUBJECT:
        case NATS_INVALID_QUEUE_NAME:
            return errc::bad_subject;
        case NATS_MAX_PAYLOAD:
            return errc::too_large;
        case NATS_CONNECTION_CLOSED:
        case NATS_INVALID_SUBSCRIPTION:
            return errc::client_closed;
        default:
            return errc::failed;
    }
}

struct destroy_options {
    void operator()(natsOptions* o) const noexcept { natsOptions_Destroy(o); }
};

using options_handle = std::unique_ptr<natsOptions, destroy_options>;

struct destroy_message {
    void operator()(natsMsg* m) const noexcept { natsMsg_Destroy(m); }
};

using message_handle = std::unique_ptr<natsMsg, destroy_message>;

client_options checked_options(client_options how) {
    const auto need = [](bool is_good, const char* what) {
        if (!is_good) throw std::invalid_argument(std::string("weft: nats::client_options::") + what);
    };
    need(!how.servers.empty(), "servers is empty: name a server, such as nats://127.0.0.1:4222");
    need(how.connect_time.count() > 0, "connect_time must be more than 0");
    need(how.reconnect_wait.count() > 0, "reconnect_wait must be more than 0");
    need(how.ping_interval.count() > 0, "ping_interval must be more than 0");
    need(how.request_time.count() > 0, "request_time must be more than 0");
    need(how.reconnect_buffer > 0, "reconnect_buffer must be more than 0");
    for (const std::string* text :
         {&how.name, &how.user, &how.password, &how.token, &how.credentials_file, &how.ca_file})
        need(text->find('\0') == std::string::npos, "a text has a zero byte");
    for (const std::string& server : how.servers)
        need(server.find('\0') == std::string::npos, "the address of a server has a zero byte");
    return how;
}

bool is_blank(char c) noexcept { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; }

// libnats writes subjects and headers into the lines of the protocol as they are, up to a zero
// byte. With a line end, a part of them would be a command of its own.
void check_word(std::string_view word, std::string_view what) {
    if (!word.empty() && std::none_of(word.begin(), word.end(), is_blank)) return;
    throw std::system_error(errc::bad_subject, "weft: NATS: " + std::string(what) + " \"" + std::string(word) + '"');
}

void check_subject(std::string_view subject, std::string_view what) {
    check_word(subject, what);
    if (subject.front() != '.' && subject.back() != '.' && subject.find("..") == std::string_view::npos) return;
    throw std::system_error(errc::bad_subject, "weft: NATS: " + std::string(what) + " \"" + std::string(subject) + '"');
}

void check_header(std::string_view name, std::string_view value) {
    const bool good_name =
        !name.empty() && std::none_of(name.begin(), name.end(), is_blank) && name.find(':') == std::string_view::npos;
    const bool good_value = value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
    if (good_name && good_value) return;
    throw std::invalid_argument("weft: nats: header \"" + std::string(name) + "\": its " +
                                (good_name ? "value has a line end or a zero byte"
                                           : "name is empty, or has a blank, a control character or a colon"));
}

void check_message(const message& m) {
    check_subject(m.subject, "subject");
    if (!m.reply.empty()) check_subject(m.reply, "reply");
    for (const auto& [name, value] : m.headers) check_header(name, value);
    if (m.data.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw std::system_error(errc::too_large, "weft: NATS: " + m.subject);
}

void set_login(natsOptions* o, const client_options& how) {
    if (!how.user.empty()) check(natsOptions_SetUserInfo(o, how.user.c_str(), how.password.c_str()), "user");
    if (!how.token.empty()) check(natsOptions_SetToken(o, how.token.c_str()), "token");
    if (!how.credentials_file.empty()) {
        check(natsOptions_SetUserCredentialsFromFiles(o, how.credentials_file.c_str(), nullptr), "credentials_file");
    }
    if (!how.ca_file.empty()) {
        check(natsOptions_SetSecure(o, true), "TLS");
        check(natsOptions_LoadCATrustedCertificates(o, how.ca_file.c_str()), "ca_file");
    }
}

options_handle made_options(const client_options& how) {
    natsOptions* made = nullptr;
    check(natsOptions_Create(&made), "options");
    options_handle o(made);
    std::vector<const char*> servers;
    servers.reserve(how.servers.size());
    for (const std::string& s : how.servers) servers.push_back(s.c_str());
    check(natsOptions_SetServers(made, servers.data(), static_cast<int>(servers.size())), "servers");
    if (!how.name.empty()) check(natsOptions_SetName(made, how.name.c_str()), "name");
    set_login(made, how);
    check(natsOptions_SetTimeout(made, how.connect_time.count()), "connect_time");
    check(natsOptions_SetMaxReconnect(made, -1), "reconnect");  // for ever
    check(natsOptions_SetReconnectWait(made, how.reconnect_wait.count()), "reconnect_wait");
    check(natsOptions_SetPingInterval(made, how.ping_interval.count()), "ping_interval");
    check(natsOptions_SetMaxPingsOut(made, 2), "pings");
    // A thread that waits for a full socket holds the lock of the connection, which the pings need.
    check(natsOptions_SetWriteDeadline(made, 2 * how.ping_interval.count()), "ping_interval");
    check(natsOptions_SetReconnectBufSize(made, how.reconnect_buffer), "reconnect_buffer");
    check(natsOptions_UseGlobalMessageDelivery(made, true), "delivery");  // not a thread for each subscription
    return o;
}

message_handle made_message(const message& m) {
    natsMsg* made = nullptr;
    check(natsMsg_Create(&made, m.subject.c_str(), m.reply.empty() ? nullptr : m.reply.c_str(), m.data.data(),
                         static_cast<int>(m.data.size())),
          "message");
    message_handle h(made);
    for (const auto& [name, value] : m.headers) check(natsMsgHeader_Add(made, name.c_str(), value.c_str()), "header");
    return h;
}

}  // namespace

void check(natsStatus s, std::string_view what) {
    if (s == NATS_OK) return;
    if (s == NATS_NO_MEMORY) throw std::bad_alloc();
    natsStatus last = NATS_OK;
    const char* const more = nats_GetLastError(&last);
    std::string text = "weft: NATS: " + std::string(what) + ": " + natsStatus_GetText(s);
    if (more != nullptr && last == s) text += std::string(": ") + more;
    throw std::system_error(errc_of(s), text);
}

message copied(natsMsg* m) {
    message copy;
    copy.subject = natsMsg_GetSubject(m);
    if (const char* const reply = natsMsg_GetReply(m)) copy.reply = reply;
    copy.data.assign(natsMsg_GetData(m), static_cast<std::size_t>(natsMsg_GetDataLength(m)));
    const char** keys = nullptr;
    int count = 0;
    if (natsMsgHeader_Keys(m, &keys, &count) != NATS_OK) return copy;  // none
    for (int i = 0; i < count; ++i) {
        const char** values = nullptr;
        int value_count = 0;
        if (natsMsgHeader_Values(m, keys[i], &values, &value_count) != NATS_OK) continue;
        for (int k = 0; k < value_count; ++k) copy.headers.emplace_back(keys[i], values[k]);
        std::free(static_cast<void*>(values));
    }
    std::free(static_cast<void*>(keys));
    return copy;
}

int status_of(const message& m) noexcept {
    const std::string_view status = m.header("Status");
    if (!m.data.empty() || status.size() != 3) return 0;
    return (status[0] - '0') * 100 + (status[1] - '0') * 10 + (status[2] - '0');
}

// ---- The connection.

connection::connection(client_options how) : how_(checked_options(std::move(how))) {}

std::shared_ptr<connection> connection::open(client_options how) {
    std::shared_ptr<connection> c(new connection(std::move(how)));
    // If the caller is interrupted, the attempt ends by itself.
    weft::async([c] { weft::blocking([&] { c->connect(); }); }).get();
    return c;
}

void connection::connect() {
    const options_handle o = made_options(how_);
    check(natsOptions_SetDisconnectedCB(o.get(), disconnected, this), "callback");
    check(natsOptions_SetReconnectedCB(o.get(), reconnected, this), "callback");
    check(natsOptions_SetClosedCB(o.get(), closed, this), "callback");
    check(natsConnection_Connect(&handle_, o.get()), "connect");
    natsInbox* inbox = nullptr;
    check(natsInbox_Create(&inbox), "inbox");
    prefix_ = inbox;
    natsInbox_Destroy(inbox);
    check(natsConnection_Subscribe(&answers_, handle_, (prefix_ + ".answer.*").c_str(), answered, this), "subscribe");
    check(natsSubscription_SetOnCompleteCB(answers_, answers_completed, this), "subscribe");
}

connection::~connection() {
    if (handle_ == nullptr) return;
    weft::shield([this] {
        weft::blocking([this] {
            if (answers_ != nullptr) natsSubscription_Unsubscribe(answers_);
            natsConnection_Close(handle_);
        });
        if (answers_ != nullptr) no_more_answers_.wait();
        is_closed_.wait();
        weft::blocking([this] {
            natsSubscription_Destroy(answers_);
            natsConnection_Destroy(handle_);
        });
    });
}

void connection::send(const message& m) {
    check_message(m);
    weft::blocking([&] {
        if (!m.headers.empty()) {
            check(natsConnection_PublishMsg(handle_, made_message(m).get()), "publish to " + m.subject);
            return;
        }
        const int size = static_cast<int>(m.data.size());
        check(m.reply.empty()
                  ? natsConnection_Publish(handle_, m.subject.c_str(), m.data.data(), size)
                  : natsConnection_PublishRequest(handle_, m.subject.c_str(), m.reply.c_str(), m.data.data(), size),
              "publish to " + m.subject);
    });
}

message connection::request(message m) {
    m.reply = prefix_ + ".answer." + std::to_string(++last_number_);
    return answer_to(std::move(m));
}

void connection::flush() {
    // The server handles what it gets in order: when this message is back, it has all earlier ones.
    message m;
    m.subject = prefix_ + ".answer." + std::to_string(++last_number_);
    m.reply = m.subject;
    static_cast<void>(answer_to(std::move(m)));
}

message connection::answer_to(message m) {
    const answer to(1);
    {
        const std::lock_guard<weft::mutex> locked(lock_);
        waiting_.emplace(m.reply, to);
    }

    struct forget {
        connection& of;
        const std::string& subject;

        ~forget() {
            const std::lock_guard<weft::mutex> locked(of.lock_);
            of.waiting_.erase(subject);
        }
    };

    const forget when_done{*this, m.reply};
    send(m);
    recv_result<message> r = to.recv_for(how_.request_time);
    if (r.status == chan_status::closed) throw std::system_error(errc::connection_lost, "weft: NATS: " + m.subject);
    if (!r.value) throw std::system_error(errc::request_timed_out, "weft: NATS: " + m.subject);
    if (status_of(*r.value) == 503) throw std::system_error(errc::no_responders, "weft: NATS: " + m.subject);
    return std::move(*r.value);
}

std::string connection::unique_subject() { return prefix_ + ".s" + std::to_string(++last_number_); }

std::shared_ptr<inbox> connection::subscribe(const std::string& subject,
                                             const std::string& queue,
                                             std::size_t capacity) {
    check_subject(subject, "subject");
    if (!queue.empty()) check_word(queue, "queue group");
    auto made = std::make_shared<inbox>(capacity);
    made->subject_ = subject;
    weft::blocking([&] {
        auto closure = std::make_unique<std::shared_ptr<arrivals>>(made->arrivals_);
        natsSubscription* s = nullptr;
        check(queue.empty() ? natsConnection_Subscribe(&s, handle_, subject.c_str(), inbox::arrived, closure.get())
                            : natsConnection_QueueSubscribe(&s, handle_, subject.c_str(), queue.c_str(), inbox::arrived,
                                                            closure.get()),
              "subscribe to " + subject);
        made->handle_ = s;
        if (natsSubscription_SetOnCompleteCB(s, inbox::completed, closure.get()) == NATS_OK) [[maybe_unused]]
            auto* const kept = closure.release();  // completed() frees it
    });
    made->on_ = shared_from_this();
    return made;
}

// ---- Callbacks, on threads of libnats. They do not wait, and nothing leaves them.

void connection::answered(natsConnection* /*c*/, natsSubscription* /*s*/, natsMsg* m, void* of) noexcept {
    const message_handle mine(m);
    try {
        static_cast<connection*>(of)->on_answer(copied(m));
    } catch (const std::bad_alloc&) {
        return;  // the request times out
    }
}

void connection::on_answer(message m) {
    const std::lock_guard<weft::mutex> locked(lock_);
    const auto found = waiting_.find(m.subject);
    if (found != waiting_.end()) static_cast<void>(found->second.try_send(std::move(m)));  // a later answer is dropped
}

void connection::answers_completed(void* of) noexcept { static_cast<connection*>(of)->no_more_answers_.set(); }

void connection::on_event(connection_event e) noexcept { static_cast<void>(events_.try_send(e)); }

void connection::fail_waiting() noexcept {
    const std::lock_guard<weft::mutex> locked(lock_);
    for (const auto& [subject, to] : waiting_) to.close();
    waiting_.clear();
}

void connection::disconnected(natsConnection* /*c*/, void* of) noexcept {
    auto* const self = static_cast<connection*>(of);
    self->fail_waiting();
    self->on_event(connection_event::disconnected);
}

void connection::reconnected(natsConnection* /*c*/, void* of) noexcept {
    static_cast<connection*>(of)->on_event(connection_event::reconnected);
}

void connection::closed(natsConnection* /*c*/, void* of) noexcept {
    auto* const self = static_cast<connection*>(of);
    self->fail_waiting();
    self->on_event(connection_event::closed);
    self->is_closed_.set();
}

// ---- Subscriptions.

void inbox::arrived(natsConnection* /*c*/, natsSubscription* /*s*/, natsMsg* m, void* of) noexcept {
    const message_handle mine(m);
    arrivals& to = **static_cast<std::shared_ptr<arrivals>*>(of);
    try {
        if (to.messages.try_send(copied(m)) == chan_status::ok) return;
    } catch (const std::bad_alloc&) {}
    to.dropped.fetch_add(1, std::memory_order_relaxed);  // a count, which orders nothing
}

// Also when libnats gives the connection up: no message can come after that.
void inbox::completed(void* of) noexcept {
    auto* const to = static_cast<std::shared_ptr<arrivals>*>(of);
    (*to)->close();
    delete to;
}

void inbox::close() noexcept {
    if (is_closed_.exchange(true)) return;
    arrivals_->close();
    if (handle_ == nullptr) return;
    weft::shield([this] {
        weft::blocking([this] {
            natsSubscription_Unsubscribe(handle_);
            natsSubscription_Destroy(handle_);
        });
    });
}

}  // namespace weft::nats::detail
