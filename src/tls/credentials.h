// credentials.h: loads certificates and keys from PEM into OpenSSL, and describes their errors.
//
// Threads: the thread that makes a context. The functions throw std::system_error with
// errc::unusable_credentials, or std::bad_alloc.
#pragma once

#include <string>

#include <weft/tls/context.h>

#include "tls/handle.h"

namespace weft::tls::detail {

// Presents own to the peer.
void install_credentials(SSL_CTX* into, const certificate& own);

// Adds the certificates in pem to the trusted ones. Each is trusted by itself, even if another one
// has signed it.
void trust(SSL_CTX* into, const std::string& pem);

// Tells clients which authorities must have signed their certificates.
void name_trusted_to_clients(SSL_CTX* into, const std::string& pem);

// OpenSSL's password callback for encrypted keys. Without it OpenSSL would ask at the terminal.
int no_password(char* into, int size, int writing, void* user) noexcept;

}  // namespace weft::tls::detail
