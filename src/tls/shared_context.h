// shared_context.h: what a context is: the SSL_CTX of OpenSSL, and what its callbacks need.
//
// OpenSSL calls back in the middle of a handshake: to choose among certificates, or an application protocol, to say why a certificate is
// not good, to hand a session over. Nothing there may wait, throw through OpenSSL, or call what a user has written; that is why such
// choices are data (a list of certificates, a list of protocols) and no functions of the user's.
//
// Who: nobody changes it once it is made, so any number of streams use it at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <weft/tls/context.h>

#include "tls/handle.h"
#include "tls/session_cache.h"

namespace weft::tls::detail {

class shared_context {
public:
    explicit shared_context(const client_options& options);
    explicit shared_context(const server_options& options);

    shared_context(const shared_context&) = delete;
    shared_context& operator=(const shared_context&) = delete;

    [[nodiscard]] bool is_server() const noexcept { return server_; }

    [[nodiscard]] bool verifies() const noexcept { return verifies_; }

    [[nodiscard]] SSL_CTX* get() const noexcept { return main_.get(); }

    [[nodiscard]] session_cache& sessions() noexcept { return sessions_; }

private:
    [[nodiscard]] context_handle make(version minimum);
    void install(SSL_CTX* into, const certificate& own) const;
    void answer_protocols(SSL_CTX* into);
    void tell_clients_apart(SSL_CTX* into, const server_options& options) const;

    // Called by OpenSSL.
    static int choose_certificate(SSL* ssl, int* alert, void* self) noexcept;
    static int choose_protocol(SSL* ssl,
                               const unsigned char** chosen,
                               unsigned char* size,
                               const unsigned char* offered,
                               unsigned int offered_size,
                               void* self) noexcept;
    static int keep_session(SSL* ssl, SSL_SESSION* session) noexcept;

    const bool server_;
    bool verifies_ = false;
    std::string protocols_;  // as they are sent: each with its length before it
    session_cache sessions_;
    context_handle main_;
    std::vector<context_handle> further_;  // a server's: one for each certificate after the first
};

}  // namespace weft::tls::detail
