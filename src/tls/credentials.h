// credentials.h: loads certificates and keys from PEM into OpenSSL.
//
// Threads: the thread that makes a context. The functions throw std::system_error with
// errc::unusable_credentials, or std::bad_alloc.
#pragma once

#include <string>

#include <weft/tls/context.h>

#include "tls/handle.h"

namespace weft::tls::detail {

void install_credentials(SSL_CTX* into, const certificate& own);

// Trusts each certificate in pem by itself, even if another one has signed it.
void trust(SSL_CTX* into, const std::string& pem);

// Tells clients which authorities must have signed their certificates.
void name_trusted_to_clients(SSL_CTX* into, const std::string& pem);

// Without this callback OpenSSL would ask for passwords at the terminal.
int no_password(char* into, int size, int writing, void* user) noexcept;

}  // namespace weft::tls::detail
