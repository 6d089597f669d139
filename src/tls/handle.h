// handle.h: owning handles for OpenSSL's objects.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

namespace weft::tls::detail {

template <auto free>
struct freed_by {
    template <typename T>
    void operator()(T* object) const noexcept {
        free(object);
    }
};

using bio_handle = std::unique_ptr<BIO, freed_by<BIO_free_all>>;
using certificate_handle = std::unique_ptr<X509, freed_by<X509_free>>;
using key_handle = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using context_handle = std::unique_ptr<SSL_CTX, freed_by<SSL_CTX_free>>;
using ssl_handle = std::unique_ptr<SSL, freed_by<SSL_free>>;
using session_handle = std::unique_ptr<SSL_SESSION, freed_by<SSL_SESSION_free>>;

}  // namespace weft::tls::detail
