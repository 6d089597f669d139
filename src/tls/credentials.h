// credentials.h: certificates and keys: from PEM into OpenSSL, with what is wrong with them.
//
// Who: whoever makes a context. Throw std::system_error with errc::unusable_credentials, or std::bad_alloc.
#pragma once

#include <string>

#include <weft/tls/context.h>

#include "tls/handle.h"

namespace weft::tls::detail {

// Shows own to the other side.
void install_credentials(SSL_CTX* into, const certificate& own);

// Trusts the certificates in pem, too. Each of them is enough by itself, also if another one has signed it.
void trust(SSL_CTX* into, const std::string& pem);

// Tells clients by whom their certificates have to be signed.
void name_trusted_to_clients(SSL_CTX* into, const std::string& pem);

// What OpenSSL calls for the password of an encrypted key: it would ask for one at the terminal.
int no_password(char* into, int size, int writing, void* user) noexcept;

}  // namespace weft::tls::detail
