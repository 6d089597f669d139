// engine.cc: see engine.h.
#include "tls/engine.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <utility>

#include <weft/tls/error.h>

#include "tls/shared_context.h"

namespace weft::tls::detail {

namespace {

// Names in certificates do not end with the root's dot.
std::string_view without_dot(std::string_view host) {
    return host.ends_with('.') ? host.substr(0, host.size() - 1) : host;
}

// SSL_set_tlsext_host_name, a macro that contains a cast.
bool ask_for(SSL* ssl, const std::string& host) {
    return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(host.c_str())) == 1;
}

}  // namespace

engine::engine(std::shared_ptr<shared_context> with, std::string_view host)
    : shared_(std::move(with)), host_(without_dot(host)), ssl_(SSL_new(shared_->get())) {
    if (ssl_ == nullptr) throw std::bad_alloc();
    SSL_set_app_data(ssl_.get(), this);
    BIO* end = wire_.open().release();
    SSL_set_bio(ssl_.get(), end, end);  // one reference for both directions
    if (shared_->is_server()) {
        SSL_set_accept_state(ssl_.get());
    } else {
        begin_client();
    }
}

void engine::begin_client() {
    SSL* ssl = ssl_.get();
    SSL_set_connect_state(ssl);
    if (host_.empty()) {
        if (!shared_->verifies()) return;
        throw std::invalid_argument(
            "weft: a TLS client needs the name of its server, to compare it with the certificate: pass it as host");
    }
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host_.c_str()) != 1) {
        SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        // A leading dot would match any name below that one.
        if (host_.starts_with('.') || host_.find('\0') != std::string::npos || SSL_set1_host(ssl, host_.c_str()) != 1 ||
            !ask_for(ssl, host_)) {
            throw std::invalid_argument("weft: \"" + host_ + "\" is not the name of a host");
        }
    }
    ERR_clear_error();
    if (const session_handle before = shared_->sessions().take(host_)) SSL_set_session(ssl, before.get());
}

engine::step engine::classify(int result) noexcept {
    if (result > 0) return {outcome::done};
    switch (SSL_get_error(ssl_.get(), result)) {
        case SSL_ERROR_WANT_READ:
            return {outcome::wants_input};
        case SSL_ERROR_ZERO_RETURN:
            return {outcome::ended};
        default:
            break;
    }
    // verified() has recorded more than the queue contains.
    if (!failed_.code) {
        try {
            failed_ = explain_library(SSL_is_init_finished(ssl_.get()) == 0);
        } catch (const std::bad_alloc&) {
            failed_.code = std::make_error_code(std::errc::not_enough_memory);
        }
    }
    ERR_clear_error();
    return {outcome::failed};
}

engine::step engine::handshake() noexcept {
    if (failed_.code) return {outcome::failed};
    ERR_clear_error();
    return classify(SSL_do_handshake(ssl_.get()));
}

engine::step engine::read(net::mutable_buffer b) noexcept {
    if (failed_.code) return {outcome::failed};
    ERR_clear_error();
    std::size_t count = 0;
    step s = classify(SSL_read_ex(ssl_.get(), b.data(), b.size(), &count));
    s.count = count;
    return s;
}

engine::step engine::write(net::const_buffer b) noexcept {
    if (failed_.code) return {outcome::failed};
    ERR_clear_error();
    std::size_t count = 0;
    step s = classify(SSL_write_ex(ssl_.get(), b.data(), std::min(b.size(), record_max), &count));
    s.count = count;
    return s;
}

void engine::say_goodbye() noexcept {
    ERR_clear_error();
    static_cast<void>(SSL_shutdown(ssl_.get()));  // 0: sent, but the peer's has not arrived
    ERR_clear_error();
}

int engine::verified(int is_good, X509_STORE_CTX* at) noexcept {
    if (is_good == 1) return 1;
    const auto* ssl = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(at, SSL_get_ex_data_X509_STORE_CTX_idx()));
    engine* self = ssl == nullptr ? nullptr : of(ssl);
    if (self == nullptr) return 0;
    const int reason = X509_STORE_CTX_get_error(at);
    try {
        self->failed_ = explain_certificate(reason, X509_STORE_CTX_get_current_cert(at), self->host_);
    } catch (const std::bad_alloc&) {
        self->failed_ = {errc::bad_certificate, {}};
    }
    return 0;
}

}  // namespace weft::tls::detail
