// chat.cpp: a chat room over TCP with Boost.Asio. The first line of a client is its name, each
// further one goes to all others. A client that is silent for too long is disconnected.
// Compile it: g++ -std=c++20 chat.cpp -pthread
#include <boost/asio.hpp>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;
using boost::system::error_code;

class session;

struct room {
    std::set<std::shared_ptr<session>> members;

    void say(const std::string& line, const std::shared_ptr<session>& except);
};

// Handlers of one session run on its strand. The room has a strand of its own.
class session : public std::enable_shared_from_this<session> {
public:
    session(tcp::socket s, room& r, asio::strand<asio::any_io_executor> of_room, std::chrono::milliseconds idle)
        : socket_(std::move(s)),
          idle_timer_(socket_.get_executor()),
          room_(r),
          of_room_(std::move(of_room)),
          idle_(idle) {}

    void start() {
        restart_timer();
        asio::async_read_until(socket_, asio::dynamic_buffer(input_), '\n',
                               [self = shared_from_this()](error_code ec, std::size_t n) {
                                   if (ec) return self->end();
                                   self->name_ = self->take_line(n);
                                   asio::post(self->of_room_, [self] {
                                       self->room_.members.insert(self);
                                       self->room_.say(self->name_ + " is here\n", nullptr);
                                   });
                                   self->read();
                               });
    }

    void deliver(const std::string& line) {
        asio::post(socket_.get_executor(), [self = shared_from_this(), line] {
            self->output_.push_back(line);
            if (self->output_.size() == 1) self->write();
        });
    }

private:
    void read() {
        restart_timer();
        asio::async_read_until(socket_, asio::dynamic_buffer(input_), '\n',
                               [self = shared_from_this()](error_code ec, std::size_t n) {
                                   if (ec) return self->end();
                                   const std::string line = self->name_ + ": " + self->take_line(n) + "\n";
                                   asio::post(self->of_room_, [self, line] { self->room_.say(line, self); });
                                   self->read();
                               });
    }

    void write() {
        asio::async_write(socket_, asio::buffer(output_.front()),
                          [self = shared_from_this()](error_code ec, std::size_t) {
                              if (ec) return self->end();
                              self->output_.pop_front();
                              if (!self->output_.empty()) self->write();
                          });
    }

    void restart_timer() {
        idle_timer_.expires_after(idle_);  // cancels the wait before
        idle_timer_.async_wait([self = shared_from_this()](error_code ec) {
            if (!ec) self->end();
        });
    }

    void end() {
        idle_timer_.cancel();
        error_code ignored;
        socket_.close(ignored);
        asio::post(of_room_, [self = shared_from_this()] {
            if (self->room_.members.erase(self) == 1) self->room_.say(self->name_ + " has left\n", nullptr);
        });
    }

    std::string take_line(std::size_t n) {
        std::string line = input_.substr(0, n - 1);
        input_.erase(0, n);
        return line;
    }

    tcp::socket socket_;
    asio::steady_timer idle_timer_;
    std::string input_;
    std::deque<std::string> output_;
    std::string name_;
    room& room_;
    asio::strand<asio::any_io_executor> of_room_;
    std::chrono::milliseconds idle_;
};

void room::say(const std::string& line, const std::shared_ptr<session>& except) {
    for (const auto& m : members) {
        if (m != except) m->deliver(line);
    }
}

class server {
public:
    server(asio::io_context& io, std::chrono::milliseconds idle)
        : acceptor_(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
          strand_(asio::make_strand(io.get_executor())),
          idle_(idle) {
        accept();
    }

    tcp::endpoint address() const { return acceptor_.local_endpoint(); }

private:
    void accept() {
        acceptor_.async_accept(asio::make_strand(acceptor_.get_executor()), [this](error_code ec, tcp::socket s) {
            if (ec) return;
            std::make_shared<session>(std::move(s), room_, strand_, idle_)->start();
            accept();
        });
    }

    tcp::acceptor acceptor_;
    room room_;
    asio::strand<asio::any_io_executor> strand_;
    std::chrono::milliseconds idle_;
};

// For the demonstration: a client of blocking calls.
class client {
public:
    client(const tcp::endpoint& at, const std::string& name) {
        socket_.connect(at);
        send(name);
    }

    void send(const std::string& line) { asio::write(socket_, asio::buffer(line + "\n")); }

    std::string read_line() {
        error_code ec;
        const std::size_t n = asio::read_until(socket_, asio::dynamic_buffer(input_), '\n', ec);
        if (ec) return "(the end)";
        std::string line = input_.substr(0, n - 1);
        input_.erase(0, n);
        return line;
    }

private:
    asio::io_context io_;
    tcp::socket socket_{io_};
    std::string input_;
};

int main() {
    asio::io_context io;
    server talk(io, 10s);
    server hasty(io, 250ms);
    std::thread runner1([&] { io.run(); });
    std::thread runner2([&] { io.run(); });
    {
        client anna(talk.address(), "anna");
        std::printf("anna reads: %s\n", anna.read_line().c_str());
        client ben(talk.address(), "ben");
        std::printf("anna reads: %s\n", anna.read_line().c_str());
        std::printf("ben reads:  %s\n", ben.read_line().c_str());
        ben.send("hello");
        std::printf("anna reads: %s\n", anna.read_line().c_str());
        anna.send("good morning");
        std::printf("ben reads:  %s\n", ben.read_line().c_str());
        client silent(hasty.address(), "carol");
        std::printf("carol reads: %s\n", silent.read_line().c_str());
        std::printf("carol reads: %s\n", silent.read_line().c_str());
    }
    io.stop();
    runner1.join();
    runner2.join();
}
