// reverse_proxy_test.cc: the example reverse_proxy, between clients and back ends that fail.
//
// Each request has a number, which its answer must repeat, in the header and in the body. The two
// back ends are on hosts of their own. The first one never fails; the second one does so by choice
// of the schedule.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <weft/net/resolve.h>
#include <weft/net/tcp.h>
#include <weft/sim/gtest.h>
#include <weft/sim/network.h>
#include <weft/sim/sim.h>
#include <weft/weft.h>

#include "../../../examples/reverse_proxy/backends.h"
#include "../../../examples/reverse_proxy/options.h"
#include "../../../examples/reverse_proxy/server.h"
#include "sim/examples/short_run.h"

namespace reverse_proxy {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;
using weft::net::tcp_listener;
using weft::net::tcp_stream;
namespace sim = weft::sim;

bool happens_once_in(uint32_t n) { return n != 0 && sim::choose(n) == n - 1; }

// A message of HTTP/1.1, with a body of known length or in chunks.
struct message {
    std::string head;  // without the empty line
    std::string body;

    [[nodiscard]] std::string field(std::string_view name) const {
        std::size_t at = head.find("\r\n" + std::string(name) + ": ");
        if (at == std::string::npos) return {};
        at += name.size() + 4;
        return head.substr(at, head.find("\r\n", at) - at);
    }

    [[nodiscard]] int status() const { return std::stoi(head.substr(9, 3)); }
};

// Reads messages from one connection.
class message_reader {
public:
    explicit message_reader(tcp_stream& from) : from_(from) {}

    // Only the header. nullopt: the connection has ended before its end.
    std::optional<message> read_head() {
        std::optional<std::string> head = read_until("\r\n\r\n");
        if (!head) return std::nullopt;
        return message{std::move(*head), {}};
    }

    // False: the connection has ended before the end of the body.
    bool read_body(message& m) {
        if (m.field("Transfer-Encoding") == "chunked") return read_chunks(m);
        const std::string size = m.field("Content-Length");
        return size.empty() || read_bytes(std::stoul(size), m.body);
    }

    [[nodiscard]] bool has_unread() const noexcept { return !unread_.empty(); }

private:
    bool read_chunks(message& m) {
        for (;;) {
            const std::optional<std::string> size = read_until("\r\n");
            if (!size) return false;
            const std::size_t n = std::stoul(*size, nullptr, 16);
            if (!read_bytes(n, m.body)) return false;
            const std::optional<std::string> end = read_until("\r\n");
            if (!end) return false;
            EXPECT_EQ(*end, "");
            if (n == 0) return true;
        }
    }

    std::optional<std::string> read_until(std::string_view end) {
        std::size_t at = 0;
        while ((at = unread_.find(end)) == std::string::npos) {
            if (!read_more()) return std::nullopt;
        }
        std::string part = unread_.substr(0, at);
        unread_.erase(0, at + end.size());
        return part;
    }

    bool read_bytes(std::size_t n, std::string& to) {
        while (unread_.size() < n) {
            if (!read_more()) return false;
        }
        to += unread_.substr(0, n);
        unread_.erase(0, n);
        return true;
    }

    bool read_more() {
        char bytes[1000];
        std::error_code ec;
        const std::size_t n = from_.read_some(bytes, ec);
        unread_.append(bytes, n);
        return n != 0;
    }

    tcp_stream& from_;
    std::string unread_;
};

// Field and body, of a known length or in two chunks.
std::string with_body(const std::string& body, bool is_chunked) {
    if (!is_chunked) return "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    std::string all = "Transfer-Encoding: chunked\r\n\r\n";
    const std::size_t half = body.size() / 2;
    for (const std::string& part : {body.substr(0, half), body.substr(half)}) {
        static constexpr char digits[] = "0123456789abcdef";
        if (part.empty()) continue;
        all += {digits[part.size() / 16], digits[part.size() % 16]};
        all += "\r\n" + part + "\r\n";
    }
    return all + "0\r\n\r\n";
}

std::string body_of(uint64_t request) { return "body of " + std::to_string(request) + std::string(request % 50, '.'); }

// A server behind the proxy. It answers with what it was sent.
class test_backend {
public:
    explicit test_backend(std::string_view name) : host_(sim::network().add_host(name)) { start(); }

    test_backend(const test_backend&) = delete;
    test_backend& operator=(const test_backend&) = delete;

    // One request of so many fails in some way. 0: none.
    uint32_t fails_once_in = 0;

    [[nodiscard]] const sim::host& host() const noexcept { return host_; }

    [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }

    // How many answers it did not send to their end.
    [[nodiscard]] int cut_answers() const noexcept { return cut_answers_; }

    // How often each request has come: "GET 5".
    [[nodiscard]] const std::map<std::string, int>& requests() const noexcept { return requests_; }

    void crash() {
        host_.crash();
        ended_.wait();
    }

    void restart() {
        host_.restart();
        start();
    }

    void stop() {
        is_stopping_ = true;
        if (listener_) listener_->close();
        for (const auto all = connections_; const auto& c : all) c->close();
        ended_.wait();
    }

private:
    void start() {
        weft::event listens;
        ended_.add();
        host_.go([this, &listens] {
            listener_.emplace(weft::net::endpoint("0.0.0.0:80"));
            listens.set();
            try {
                accept_all();
            } catch (const weft::cancelled&) {}  // a crash
            listener_.reset();
            ended_.done();
        });
        listens.wait();
    }

    void accept_all() {
        for (;;) {
            std::error_code ec;
            tcp_stream accepted = listener_->accept(ec);
            if (ec) return;
            ended_.go([this, s = std::move(accepted)]() mutable {
                if (is_stopping_) return;
                const auto c = std::make_shared<tcp_stream>(std::move(s));
                connections_.push_back(c);
                try {
                    message_reader requests(*c);
                    while (answer(*c, requests)) continue;
                } catch (const weft::cancelled&) {}
                std::erase(connections_, c);
                c->close();
            });
        }
    }

    // Returns whether another request may follow.
    bool answer(tcp_stream& to, message_reader& requests) {
        std::optional<message> asked = requests.read_head();
        if (!asked) return false;
        std::error_code ec;
        const std::string number = asked->field("X-Number");
        if (number.empty()) {  // a health check
            to.write_all("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", ec);
            return false;
        }
        ++requests_[asked->head.substr(0, asked->head.find(' ') + 1) + number];
        const bool fails = happens_once_in(fails_once_in);
        const uint32_t how = fails ? sim::choose(5) : 0;
        if (fails && how == 0) return false;
        if (fails && how == 1) {  // it refuses the body
            to.write_all("HTTP/1.1 413 No\r\nX-Number: " + number + "\r\nContent-Length: 0\r\n\r\n", ec);
            return false;
        }
        if (!requests.read_body(*asked)) return false;
        EXPECT_FALSE(requests.has_unread()) << "a request in advance";
        if (fails && how == 2) weft::sleep_for(std::chrono::seconds(sim::choose(60)));
        const std::string body = asked->body.empty() ? body_of(std::stoull(number)) : asked->body;
        std::string text = "HTTP/1.1 200 OK\r\nX-Number: " + number + "\r\n" + with_body(body, sim::choose(2) == 1);
        if (fails && how == 3) {
            text.resize(sim::choose(static_cast<uint32_t>(text.size())));
            ++cut_answers_;
        }
        to.write_all(text, ec);
        return !ec && !(fails && how >= 3);
    }

    const sim::host host_;
    std::optional<tcp_listener> listener_;
    std::vector<std::shared_ptr<tcp_stream>> connections_;
    std::map<std::string, int> requests_;
    int cut_answers_ = 0;
    bool is_stopping_ = false;
    weft::wait_group ended_;
};

// The proxy, on a host of its own.
class proxy {
public:
    explicit proxy(options how) : how_(std::move(how)) {
        all_.emplace(how_);
        weft::event listens;
        ended_.add();
        sim::network().add_host("proxy").go([this, &listens] {
            tcp_listener listener(weft::net::endpoint("0.0.0.0:80"));
            listens.set();
            cut_off_ = serve_until([this] { told_to_end_.wait(); }, listener, *all_, how_);
            ended_.done();
        });
        listens.wait();
    }

    [[nodiscard]] backends& all() noexcept { return *all_; }

    // Returns how many connections were cut off.
    std::size_t end() {
        told_to_end_.set();
        ended_.wait();
        return cut_off_;
    }

    void close_kept_connections() { all_.reset(); }

private:
    const options how_;
    std::optional<backends> all_;
    std::size_t cut_off_ = 0;
    weft::event told_to_end_;
    weft::wait_group ended_;
};

struct sent_request {
    bool is_post;
    int status;  // 0: there was no complete answer
};

// Sends requests over one connection, and over a new one where it must. Checks that each answer
// belongs to its request.
class client {
public:
    explicit client(uint64_t first) : number_(first) {}

    sent_request ask() {
        const uint64_t number = ++number_;
        const bool is_post = sim::choose(2) == 1;
        const std::string body = is_post ? body_of(number) : std::string();
        std::string text = (is_post ? "POST" : "GET") + std::string(" /p HTTP/1.1\r\nHost: proxy\r\nX-Number: ") +
                           std::to_string(number) + "\r\n";
        text += is_post ? with_body(body, sim::choose(2) == 1) : "\r\n";
        std::error_code ec;
        if (!reader_) {
            connection_ = weft::net::dial("proxy:80", ec);
            if (ec) return {is_post, 0};
            reader_.emplace(connection_);
        }
        const std::size_t first = is_post && sim::choose(4) == 3 ? text.size() - body.size() / 2 : text.size();
        connection_.write_all(text.substr(0, first), ec);
        if (first != text.size()) weft::sleep_for(10ms);
        connection_.write_all(text.substr(first), ec);
        return {is_post, read_answer(number)};
    }

    void close() {
        reader_.reset();
        connection_.close();
    }

private:
    int read_answer(uint64_t number) {
        std::optional<message> answer = reader_->read_head();
        const bool is_whole = answer && reader_->read_body(*answer);
        const bool is_last = !is_whole || answer->field("Connection") == "close";
        const int status = is_whole ? answer->status() : 0;
        EXPECT_FALSE(is_whole && reader_->has_unread()) << "more than one answer";
        if (status == 200 || status == 413) {
            EXPECT_EQ(answer->field("X-Number"), std::to_string(number));
        }
        if (status == 200) {
            EXPECT_EQ(answer->body, body_of(number));
        }
        if (is_last) close();
        return status;
    }

    uint64_t number_;
    tcp_stream connection_;
    std::optional<message_reader> reader_;
};

// Nothing is left of the requests.
void end(proxy& p, const std::array<test_backend*, 2>& servers) {
    EXPECT_EQ(p.end(), 0U) << "connections were cut off";
    for (std::size_t i = 0; i < p.all().size(); ++i) EXPECT_EQ(p.all()[i].load(), 0U);
    p.close_kept_connections();
    weft::sleep_for(2min);  // until those that wait have seen the end
    for (test_backend* b : servers) {
        EXPECT_EQ(b->connections(), 0U) << "the proxy has not closed a connection";
        b->stop();
    }
}

options options_for_test() {
    options how;
    how.backends = {"first:80", "second:80"};
    return how;
}

TEST(SimulatedProxy, AnswersBelongToTheirRequestsWhateverFails) {
    const sim::without_stderr quiet;
    sim::expect_passes(sim::short_run(), [] {
        const sim::network net({.latency = 1ms, .jitter = 20ms, .loss = 0.01});
        test_backend first("first");
        test_backend second("second");
        second.fails_once_in = 3;
        options how = options_for_test();
        how.allowed.connect_time = 20s;  // a lost packet must not look like a dead back end
        proxy tested(how);
        int unanswered = 0;
        weft::wait_group clients;
        for (uint64_t i = 0; i < 2; ++i) {
            clients.go([i, &unanswered] {
                client c(100 * i);
                for (int request = 0; request < 3; ++request) {
                    const sent_request r = c.ask();
                    if (r.status == 0) ++unanswered;
                    EXPECT_TRUE(r.status != 400 && r.status != 408) << "the proxy blames the client: " << r.status;
                    EXPECT_TRUE(r.status != 502 || r.is_post) << "a GET was not repeated";
                    if (sim::choose(4) == 3) weft::sleep_for(std::chrono::seconds(sim::choose(30)));
                }
                c.close();
            });
        }
        clients.wait();
        end(tested, {&first, &second});
        EXPECT_LE(unanswered, second.cut_answers()) << "an answer was lost";
        std::map<std::string, int> posts;
        for (const test_backend* b : {&first, &second}) {
            for (const auto& [request, times] : b->requests()) posts[request] += times;
        }
        for (const auto& [request, times] : posts) {
            EXPECT_TRUE(times == 1 || request.starts_with("GET")) << request << " was sent twice";
        }
    });
}

TEST(SimulatedProxy, ADeadBackEndIsTakenOutAndComesBack) {
    const sim::without_stderr quiet;
    sim::expect_passes(sim::short_run(), [] {
        const sim::network net({.latency = 1ms, .jitter = 5ms});
        test_backend first("first");
        test_backend second("second");
        options how = options_for_test();
        how.allowed.answer_time = 5s;
        proxy tested(how);
        weft::sleep_for(std::chrono::milliseconds(sim::choose(3000)));
        const bool is_partition = sim::choose(2) == 1;
        const auto noticed = [&](std::size_t checks) {
            return static_cast<int64_t>(checks) * (how.health.every + how.health.time + 100ms);
        };
        is_partition ? net.partition(second.host(), net.find("proxy")) : second.crash();
        bool ends = false;
        weft::wait_group asking;
        asking.go([&] {
            client c(0);
            while (!ends) {
                const sent_request r = c.ask();
                EXPECT_TRUE(r.status == 200 || r.status == 504 || (r.is_post && r.status == 502)) << r.status;
                weft::sleep_for(1s);
            }
            c.close();
        });
        weft::sleep_for(noticed(how.health.fall));
        EXPECT_FALSE(tested.all()[1].is_up());
        EXPECT_TRUE(tested.all()[0].is_up());
        weft::sleep_for(how.allowed.answer_time);
        {
            client c(1000);
            EXPECT_EQ(c.ask().status, 200) << "a request was sent to the dead back end";
            c.close();
        }
        if (is_partition) {
            net.heal();
        } else {
            second.restart();
        }
        weft::sleep_for(noticed(how.health.rise + 1));
        EXPECT_TRUE(tested.all()[1].is_up());
        ends = true;
        asking.wait();
        const std::size_t before = second.requests().size();
        client c(2000);
        for (int i = 0; i < 4; ++i) EXPECT_EQ(c.ask().status, 200);
        c.close();
        EXPECT_GT(second.requests().size(), before) << "it gets no requests";
        end(tested, {&first, &second});
    });
}

// The client has sent only half of the body when its answer is due.
TEST(SimulatedProxy, ABackEndThatGivesUpOnABodyIsAnsweredAtOnce) {
    const sim::without_stderr quiet;
    sim::expect_passes(sim::short_run(), [] {
        const sim::network net({.latency = 1ms, .jitter = 5ms});
        tcp_listener listener = net.listen("only:80");
        options how = options_for_test();
        how.backends = {"only:80"};
        how.health.path.clear();
        proxy tested(how);
        const bool answers = sim::choose(2) == 1;
        weft::wait_group serving;
        serving.go([&] {
            std::error_code ec;
            for (;;) {
                tcp_stream s = listener.accept(ec);
                if (ec) return;
                message_reader requests(s);
                if (!requests.read_head()) continue;  // a health check
                if (answers) s.write_all("HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n", ec);
                s.shutdown_send(ec);
                char rest[100];
                while (!ec && s.read_some(rest, ec) != 0) continue;
            }
        });
        tcp_stream client = net.dial("proxy:80");
        client.write_all("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nfirst");
        const auto begin = steady_clock::now();
        message_reader answer(client);
        const std::optional<message> got = answer.read_head();
        EXPECT_LE(steady_clock::now() - begin, 1s);
        EXPECT_EQ(got ? got->status() : 0, answers ? 413 : 502);
        client.close();
        EXPECT_EQ(tested.end(), 0U);
        listener.close();
        serving.wait();
    });
}

}  // namespace
}  // namespace reverse_proxy
