// credentials.cc: see credentials.h.
#include "tls/credentials.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <weft/tls/error.h>

#include "tls/explain.h"

namespace weft::tls {

namespace {

std::string contents_of(const std::string& name, const char* what) {
    const auto fail = [&](int error) {
        throw std::system_error(error, std::generic_category(), std::string("weft: ") + what + ' ' + name);
    };
    // NOLINTNEXTLINE(clang-analyzer-unix.Stream): it is closed by what owns it
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name.c_str(), "re"), &std::fclose);
    if (file == nullptr) fail(errno);
    std::string all;
    char piece[4096];
    std::size_t n = 0;
    do {
        n = std::fread(piece, 1, sizeof(piece), file.get());
        if (std::ferror(file.get()) != 0) fail(errno);
        all.append(piece, n);
    } while (n == sizeof(piece));
    return all;
}

}  // namespace

certificate certificate::from_files(const std::string& chain_file, const std::string& key_file) {
    return {contents_of(chain_file, "cannot read the certificate file"),
            contents_of(key_file, "cannot read the key file")};
}

}  // namespace weft::tls

namespace weft::tls::detail {

namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw std::system_error(errc::unusable_credentials, "weft: " + why);
}

bio_handle reader_of(const std::string& pem) {
    if (pem.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        refuse("the PEM text is larger than 2 GiB");
    bio_handle made(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    if (made == nullptr) throw std::bad_alloc();
    return made;
}

// Skips keys between the certificates.
std::vector<certificate_handle> certificates_in(const std::string& pem) {
    ERR_clear_error();
    const bio_handle reader = reader_of(pem);
    std::vector<certificate_handle> all;
    while (certificate_handle next{PEM_read_bio_X509(reader.get(), nullptr, &no_password, nullptr)}) {
        all.push_back(std::move(next));
    }
    const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (!at_end) refuse("certificate " + std::to_string(all.size() + 1) + " of the PEM text: " + library_words());
    ERR_clear_error();
    return all;
}

}  // namespace

int no_password(char* /*into*/, int /*size*/, int /*writing*/, void* /*user*/) noexcept { return -1; }

void install_credentials(SSL_CTX* into, const certificate& own) {
    std::vector<certificate_handle> chain = certificates_in(own.chain);
    if (chain.empty())
        refuse(
            "certificate::chain contains no certificate: it must be PEM text, which begins with -----BEGIN "
            "CERTIFICATE-----");
    const std::string who = '"' + name_of(X509_get_subject_name(chain.front().get())) + '"';
    if (SSL_CTX_use_certificate(into, chain.front().get()) != 1)
        refuse("the certificate of " + who + ": " + library_words());
    for (std::size_t i = 1; i < chain.size(); ++i) {
        if (SSL_CTX_add0_chain_cert(into, chain[i].get()) != 1) throw std::bad_alloc();
        static_cast<void>(chain[i].release());  // NOLINT(bugprone-unused-return-value): the context's by now
    }

    const bio_handle reader = reader_of(own.key);
    const key_handle key(PEM_read_bio_PrivateKey(reader.get(), nullptr, &no_password, nullptr));
    if (key == nullptr) {
        const bool encrypted = own.key.find("ENCRYPTED") != std::string::npos;
        const std::string why = library_words();
        refuse("the key for " + who + ": " +
               (encrypted ? "it is encrypted; decrypt it first, with openssl pkey"
                          : why + ": it must be PEM text, which begins with -----BEGIN PRIVATE KEY-----"));
    }
    if (SSL_CTX_use_PrivateKey(into, key.get()) != 1 || SSL_CTX_check_private_key(into) != 1) {
        refuse("the key does not belong to the certificate of " + who + ": " + library_words());
    }
}

void trust(SSL_CTX* into, const std::string& pem) {
    X509_STORE* store = SSL_CTX_get_cert_store(into);
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    if (pem.empty()) return;
    const std::vector<certificate_handle> all = certificates_in(pem);
    if (all.empty())
        refuse(
            "trusted, in the options, contains no certificate: it must be PEM text, which begins with -----BEGIN "
            "CERTIFICATE-----");
    for (const certificate_handle& c : all) {
        if (X509_STORE_add_cert(store, c.get()) != 1) throw std::bad_alloc();
    }
}

void name_trusted_to_clients(SSL_CTX* into, const std::string& pem) {
    for (const certificate_handle& c : certificates_in(pem)) {
        if (SSL_CTX_add_client_CA(into, c.get()) != 1) throw std::bad_alloc();
    }
}

}  // namespace weft::tls::detail
