// shared_context.h: the state of a context: OpenSSL's SSL_CTX, and the data of its callbacks.
//
// Callbacks come in the middle of a handshake. They must not wait, throw through OpenSSL, or call
// user code. So choices are data, not user functions.
//
// Threads: any. Immutable after construction, except the sessions, which have a lock.
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
    std::string protocols_;  // in wire format: length, name, and so on
    session_cache sessions_;
    context_handle main_;
    std::vector<context_handle> further_;  // for each further certificate of a server
};

}  // namespace weft::tls::detail
