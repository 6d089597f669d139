// stream.cc: see weft/tls/stream.h.
#include <stdexcept>
#include <utility>

#include <weft/cancel.h>
#include <weft/error.h>
#include <weft/net/tcp.h>
#include <weft/tls/stream.h>

#include "tls/connection.h"
#include "tls/shared_context.h"

namespace weft::tls {

namespace {

// failure: the details of an error of TLS.
[[noreturn]] void throw_failure(std::error_code ec, std::string what, const std::string& failure) {
    // Throws as any interrupted wait.
    if (ec == weft::errc::cancelled || ec == weft::errc::timed_out) throw_if_cancelled();
    if (ec.category() == error_category() && !failure.empty()) what += ": " + failure;
    throw std::system_error(ec, what);
}

// The two forms of a call(c, ec). c may be nullptr.
template <typename Call>
auto report(detail::connection* c, std::error_code& ec, Call call) {
    using result = decltype(call(*c, ec));
    ec.clear();
    if (c != nullptr) return call(*c, ec);
    ec = weft::errc::closed;
    return result();
}

template <typename Call>
auto or_throw(detail::connection* c, const char* what, Call call) {
    std::error_code ec;
    const auto done = report(c, ec, call);
    if (ec) throw_failure(ec, what, c != nullptr ? c->failure_text() : std::string());
    return done;
}

constexpr auto all_there_is = static_cast<std::size_t>(-1);

auto reading(net::mutable_buffer b, std::size_t at_least) {
    return [=](detail::connection& c, std::error_code& ec) { return c.read(b, at_least, ec); };
}

auto writing(std::span<const net::const_buffer> from, std::size_t at_most) {
    return [=](detail::connection& c, std::error_code& ec) { return c.write(from, at_most, ec); };
}

bool shaking_hands(detail::connection& c, std::error_code& ec) {
    c.handshake(ec);
    return !ec;
}

bool ending(detail::connection& c, std::error_code& ec) {
    c.shutdown_send(ec);
    return !ec;
}

}  // namespace

stream::stream() noexcept = default;
stream::stream(stream&& other) noexcept = default;
stream& stream::operator=(stream&& other) noexcept = default;
stream::~stream() = default;

stream::stream(std::unique_ptr<detail::connection> c) noexcept : connection_(std::move(c)) {}

stream stream::client(net::stream&& over, std::string_view host, const context& with) {
    if (with.shared_->is_server()) {
        throw std::invalid_argument(
            "weft: a TLS client cannot use the context of a server: make one with tls::context::client");
    }
    return stream(std::make_unique<detail::connection>(std::move(over), with.shared_, host));
}

stream stream::server(net::stream&& over, const context& with) {
    if (!with.shared_->is_server()) {
        throw std::invalid_argument(
            "weft: a TLS server cannot use the context of a client: make one with tls::context::server");
    }
    return stream(std::make_unique<detail::connection>(std::move(over), with.shared_, std::string_view()));
}

stream stream::connect(const net::endpoint& to, std::string_view host, const context& with) {
    stream made = client(net::tcp_stream::connect(to), host, with);
    std::error_code ec;
    made.handshake(ec);
    if (ec) {
        throw_failure(ec, "weft: TLS handshake with \"" + std::string(host) + "\" at " + to.to_string(),
                      made.failure());
    }
    return made;
}

stream stream::connect(const net::endpoint& to, std::string_view host, const context& with, std::error_code& ec) {
    net::tcp_stream below = net::tcp_stream::connect(to, ec);
    if (ec) return {};
    stream made = client(std::move(below), host, with);
    made.handshake(ec);
    if (ec) made.close();
    return made;
}

void stream::handshake() { or_throw(connection_.get(), "weft: TLS handshake", shaking_hands); }

void stream::handshake(std::error_code& ec) { report(connection_.get(), ec, shaking_hands); }

std::size_t stream::read_some(net::mutable_buffer b) {
    return or_throw(connection_.get(), "weft: TLS read_some", reading(b, 1));
}

std::size_t stream::read_some(net::mutable_buffer b, std::error_code& ec) {
    return report(connection_.get(), ec, reading(b, 1));
}

std::size_t stream::read(net::mutable_buffer b) {
    return or_throw(connection_.get(), "weft: TLS read", reading(b, b.size()));
}

std::size_t stream::read(net::mutable_buffer b, std::error_code& ec) {
    return report(connection_.get(), ec, reading(b, b.size()));
}

std::size_t stream::write_some(net::const_buffer b) {
    return or_throw(connection_.get(), "weft: TLS write_some", writing({&b, 1}, detail::engine::record_max));
}

std::size_t stream::write_some(net::const_buffer b, std::error_code& ec) {
    return report(connection_.get(), ec, writing({&b, 1}, detail::engine::record_max));
}

std::size_t stream::write_all(net::const_buffer b) {
    return or_throw(connection_.get(), "weft: TLS write_all", writing({&b, 1}, all_there_is));
}

std::size_t stream::write_all(net::const_buffer b, std::error_code& ec) {
    return report(connection_.get(), ec, writing({&b, 1}, all_there_is));
}

std::size_t stream::writev_all(std::span<const net::const_buffer> from) {
    return or_throw(connection_.get(), "weft: TLS writev_all", writing(from, all_there_is));
}

std::size_t stream::writev_all(std::span<const net::const_buffer> from, std::error_code& ec) {
    return report(connection_.get(), ec, writing(from, all_there_is));
}

void stream::shutdown_send() { or_throw(connection_.get(), "weft: TLS shutdown_send", ending); }

void stream::shutdown_send(std::error_code& ec) { report(connection_.get(), ec, ending); }

void stream::close() noexcept {
    if (connection_ != nullptr) connection_->close();
}

bool stream::is_open() const noexcept { return connection_ != nullptr && connection_->below().is_open(); }

int stream::native_handle() const noexcept {
    return connection_ != nullptr ? connection_->below().native_handle() : -1;
}

void stream::set_read_deadline_ns(int64_t when) noexcept {
    if (connection_ != nullptr) connection_->below().set_read_deadline_ns(when);
}

void stream::set_write_deadline_ns(int64_t when) noexcept {
    if (connection_ != nullptr) connection_->below().set_write_deadline_ns(when);
}

std::string stream::failure() const { return connection_ != nullptr ? connection_->failure_text() : std::string(); }

std::string stream::protocol() const {
    if (connection_ == nullptr) return {};
    return connection_->agreed([](const SSL* ssl) {
        const unsigned char* name = nullptr;
        unsigned size = 0;
        SSL_get0_alpn_selected(ssl, &name, &size);
        return name != nullptr ? std::string(reinterpret_cast<const char*>(name), size) : std::string();
    });
}

version stream::agreed_version() const {
    if (connection_ == nullptr) return version::tls_1_2;
    return connection_->agreed(
        [](const SSL* ssl) { return SSL_version(ssl) == TLS1_3_VERSION ? version::tls_1_3 : version::tls_1_2; });
}

std::string stream::cipher() const {
    if (connection_ == nullptr) return {};
    return connection_->agreed(
        [](const SSL* ssl) { return std::string(SSL_CIPHER_get_name(SSL_get_current_cipher(ssl))); });
}

std::string stream::asked_host() const {
    if (connection_ == nullptr) return {};
    return connection_->agreed([](const SSL* ssl) {
        const char* host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
        return std::string(host != nullptr ? host : "");
    });
}

std::string stream::peer() const {
    if (connection_ == nullptr) return {};
    return connection_->agreed([](const SSL* ssl) {
        X509* shown = SSL_get0_peer_certificate(ssl);
        return shown != nullptr ? detail::name_of(X509_get_subject_name(shown)) : std::string();
    });
}

bool stream::resumed() const {
    if (connection_ == nullptr) return false;
    return connection_->agreed([](const SSL* ssl) { return SSL_session_reused(ssl) == 1; });
}

}  // namespace weft::tls
