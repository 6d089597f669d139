// asio_echo.cc: the echo server with callbacks of Boost.Asio.
//
// An io_context per thread, with concurrency hint 1 (one thread), and connections assigned in turn:
// the fastest way to use Asio, without work stealing. Each connection is an object with its own
// buffer.
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/version.hpp>
#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server_options.h"

namespace bench::net {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using local = asio::local::stream_protocol;

template <typename Protocol>
class connection : public std::enable_shared_from_this<connection<Protocol>> {
public:
    connection(typename Protocol::socket socket, std::size_t buffer_size)
        : socket_(std::move(socket)),
          buffer_(std::make_unique_for_overwrite<char[]>(buffer_size)),
          size_(buffer_size) {}

    void read() {
        socket_.async_read_some(asio::buffer(buffer_.get(), size_),
                                [self = this->shared_from_this()](const error_code& ec, std::size_t n) {
                                    if (!ec) self->write(n);
                                });
    }

private:
    void write(std::size_t n) {
        asio::async_write(socket_, asio::buffer(buffer_.get(), n),
                          [self = this->shared_from_this()](const error_code& ec, std::size_t) {
                              if (!ec) self->read();
                          });
    }

    typename Protocol::socket socket_;
    std::unique_ptr<char[]> buffer_;
    std::size_t size_;
};

using contexts = std::vector<std::unique_ptr<asio::io_context>>;

template <typename Protocol>
class acceptor {
public:
    acceptor(contexts& all, const typename Protocol::endpoint& at, std::size_t buffer_size)
        : all_(all), listener_(*all[0], at), buffer_size_(buffer_size) {}

    [[nodiscard]] typename Protocol::endpoint local_endpoint() const { return listener_.local_endpoint(); }

    void accept() {
        asio::io_context& next = *all_[turn_];
        turn_ = (turn_ + 1) % all_.size();
        listener_.async_accept(next, [this, &next](const error_code& ec, typename Protocol::socket socket) {
            if (ec) std::exit(1);
            if constexpr (std::same_as<Protocol, tcp>) socket.set_option(tcp::no_delay(true));
            auto c = std::make_shared<connection<Protocol>>(std::move(socket), buffer_size_);
            asio::post(next, [c] { c->read(); });
            accept();
        });
    }

private:
    contexts& all_;
    typename Protocol::acceptor listener_;
    std::size_t buffer_size_;
    std::size_t turn_ = 0;
};

std::string address_of(const tcp::endpoint& at) { return tcp_address(at.port()); }

std::string address_of(const local::endpoint& at) { return "unix:" + at.path(); }

template <typename Protocol>
void serve_at(const server_options& o, const typename Protocol::endpoint& at) {
    contexts all;
    std::vector<asio::executor_work_guard<asio::io_context::executor_type>> busy;
    for (int i = 0; i < o.p; ++i)
        busy.push_back(asio::make_work_guard(*all.emplace_back(std::make_unique<asio::io_context>(1))));
    acceptor<Protocol> accepting(all, at, o.buffer);
    announce("asio",
             "Boost.Asio " + std::to_string(BOOST_VERSION / 100000) + "." + std::to_string(BOOST_VERSION / 100 % 1000) +
                 ", gcc " __VERSION__,
             address_of(accepting.local_endpoint()));
    accepting.accept();
    for (int i = 1; i < o.p; ++i)
        std::thread([&context = *all[static_cast<std::size_t>(i)]] { context.run(); }).detach();
    all[0]->run();
}

}  // namespace

}  // namespace bench::net

int main(int argc, char** argv) {
    using namespace bench::net;
    const server_options o = parse_server_options(argc, argv, "echo");
    if (o.unix_path.empty()) {
        serve_at<tcp>(o, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    } else {
        serve_at<local>(o, local::endpoint(o.unix_path));
    }
    return 0;
}
