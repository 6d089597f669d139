// shared_context.cc: see shared_context.h.
#include "tls/shared_context.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <limits>
#include <new>
#include <stdexcept>
#include <system_error>

#include <weft/tls/error.h>

#include "tls/credentials.h"
#include "tls/engine.h"
#include "tls/explain.h"

namespace weft::tls::detail {

namespace {

// Distinguishes sessions of a server that checks client certificates from those of other servers.
constexpr unsigned char session_name[] = {'w', 'e', 'f', 't'};

std::string encoded(const std::vector<std::string>& protocols) {
    std::string all;
    for (const std::string& p : protocols) {
        if (p.empty() || p.size() > std::numeric_limits<unsigned char>::max()) {
            throw std::invalid_argument(
                "weft: an application protocol (ALPN) must have a name of 1 to 255 bytes, not \"" + p + '"');
        }
        all += static_cast<char>(p.size());
        all += p;
    }
    return all;
}

void check(bool done, const char* what) {
    if (!done) throw std::system_error(errc::unusable_credentials, std::string(what) + ": " + library_words());
}

}  // namespace

shared_context::shared_context(const client_options& options)
    : server_(false),
      verifies_(options.verify),
      protocols_(encoded(options.protocols)),
      sessions_(options.sessions),
      main_(make(options.minimum)) {
    SSL_CTX* ctx = main_.get();
    SSL_CTX_set_verify(ctx, options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       options.verify ? &engine::verified : nullptr);
    if (options.trust_system)
        check(SSL_CTX_set_default_verify_paths(ctx) == 1,
              "weft: cannot load the certificate authorities of the system");
    trust(ctx, options.trusted);
    if (!options.own.chain.empty() || !options.own.key.empty()) install(ctx, options.own);
    // Unlike others, this function returns 0 on success.
    if (!protocols_.empty() && SSL_CTX_set_alpn_protos(ctx, reinterpret_cast<const unsigned char*>(protocols_.data()),
                                                       static_cast<unsigned>(protocols_.size())) != 0) {
        throw std::bad_alloc();
    }
    if (sessions_.is_on()) {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(ctx, &shared_context::keep_session);
    } else {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    }
}

shared_context::shared_context(const server_options& options)
    : server_(true),
      verifies_(options.who != server_options::clients::any),
      protocols_(encoded(options.protocols)),
      sessions_(0),
      main_(make(options.minimum)) {
    if (options.own.empty()) {
        throw std::invalid_argument("weft: a TLS server needs a certificate: set own in server_options");
    }
    const auto prepare = [&](SSL_CTX* ctx, const certificate& own) {
        install(ctx, own);
        tell_clients_apart(ctx, options);
        answer_protocols(ctx);
    };
    prepare(main_.get(), options.own.front());
    for (std::size_t i = 1; i < options.own.size(); ++i) {
        prepare(further_.emplace_back(make(options.minimum)).get(), options.own[i]);
    }
    if (!further_.empty()) {
        // SSL_CTX_set_tlsext_servername_callback, a macro that contains a cast.
        SSL_CTX_callback_ctrl(main_.get(), SSL_CTRL_SET_TLSEXT_SERVERNAME_CB,
                              reinterpret_cast<void (*)()>(&shared_context::choose_certificate));
        SSL_CTX_set_tlsext_servername_arg(main_.get(), this);
    }
}

context_handle shared_context::make(version minimum) {
    ERR_clear_error();
    context_handle made(SSL_CTX_new(server_ ? TLS_server_method() : TLS_client_method()));
    check(made != nullptr, "weft: OpenSSL cannot make a context");
    SSL_CTX* ctx = made.get();
    check(SSL_CTX_set_min_proto_version(ctx, minimum == version::tls_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION) == 1,
          "weft: this OpenSSL does not support the version of TLS in minimum, in the options");
    // Renegotiation and compression have enabled attacks.
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    // Idle streams keep no buffers. A write to memory completes or fails, however short the peer's
    // records are, and is never repeated.
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_default_passwd_cb(ctx, &no_password);
    SSL_CTX_set_app_data(ctx, this);
    return made;
}

void shared_context::install(SSL_CTX* into, const certificate& own) const { install_credentials(into, own); }

void shared_context::tell_clients_apart(SSL_CTX* into, const server_options& options) const {
    using clients = server_options::clients;
    if (SSL_CTX_set_session_id_context(into, session_name, sizeof(session_name)) != 1) throw std::bad_alloc();
    if (options.who == clients::any) {
        if (!options.trusted.empty()) {
            throw std::invalid_argument(
                "weft: server_options::trusted is set, but clients are not asked for certificates: set who to "
                "may_show_certificate or must_show_certificate");
        }
        return;
    }
    if (options.trusted.empty()) {
        throw std::invalid_argument(
            "weft: clients are asked for certificates, but no authority is trusted to sign them: set trusted in "
            "server_options");
    }
    trust(into, options.trusted);
    name_trusted_to_clients(into, options.trusted);
    const int must = options.who == clients::must_show_certificate ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
    SSL_CTX_set_verify(into, SSL_VERIFY_PEER | must, &engine::verified);
}

void shared_context::answer_protocols(SSL_CTX* into) {
    if (!protocols_.empty()) SSL_CTX_set_alpn_select_cb(into, &shared_context::choose_protocol, this);
}

int shared_context::choose_certificate(SSL* ssl, int* /*alert*/, void* self) noexcept {
    const auto& shared = *static_cast<shared_context*>(self);
    const char* host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (host == nullptr) return SSL_TLSEXT_ERR_NOACK;
    const auto is_for = [&](SSL_CTX* ctx) {
        return X509_check_host(SSL_CTX_get0_certificate(ctx), host, 0, 0, nullptr) == 1;
    };
    if (is_for(shared.main_.get())) return SSL_TLSEXT_ERR_OK;
    for (const context_handle& other : shared.further_) {
        if (!is_for(other.get())) continue;
        SSL_set_SSL_CTX(ssl, other.get());
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_OK;  // the first certificate: the client decides
}

int shared_context::choose_protocol(SSL* /*ssl*/,
                                    const unsigned char** chosen,
                                    unsigned char* size,
                                    const unsigned char* offered,
                                    unsigned int offered_size,
                                    void* self) noexcept {
    const std::string& ours = static_cast<shared_context*>(self)->protocols_;
    unsigned char* found = nullptr;
    if (SSL_select_next_proto(&found, size, reinterpret_cast<const unsigned char*>(ours.data()),
                              static_cast<unsigned>(ours.size()), offered, offered_size) != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

int shared_context::keep_session(SSL* ssl, SSL_SESSION* session) noexcept {
    const engine* of = engine::of(ssl);
    if (of == nullptr || SSL_SESSION_is_resumable(session) != 1) return 0;
    auto& shared = *static_cast<shared_context*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    try {
        // A copy, because OpenSSL marks a session that ends without close_notify as not resumable.
        session_handle copy(SSL_SESSION_dup(session));
        if (copy != nullptr) shared.sessions_.keep(of->host(), std::move(copy));
    } catch (const std::bad_alloc&) {
        // The next connection makes a new one.
    }
    return 0;  // session itself is not kept
}

}  // namespace weft::tls::detail
