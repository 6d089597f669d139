// certificates.cc: see certificates.h.
#include "certificates.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <stdexcept>

namespace weft::test {

namespace {

using key_ptr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using certificate_ptr = std::unique_ptr<X509, decltype(&X509_free)>;

void check(bool done) {
    if (!done) throw std::runtime_error("OpenSSL could not make a certificate");
}

key_ptr make_key(key_kind kind) {
    key_ptr key(kind == key_kind::rsa ? EVP_RSA_gen(2048U) : EVP_EC_gen("P-256"), &EVP_PKEY_free);
    check(key != nullptr);
    return key;
}

template <typename Write>
std::string pem_of(Write write) {
    const std::unique_ptr<BIO, decltype(&BIO_free_all)> memory(BIO_new(BIO_s_mem()), &BIO_free_all);
    check(memory != nullptr && write(memory.get()) == 1);
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(EVP_PKEY* key) {
    return pem_of([&](BIO* b) { return PEM_write_bio_PKCS8PrivateKey(b, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

std::string pem_of(X509* certificate) {
    return pem_of([&](BIO* b) { return PEM_write_bio_X509(b, certificate); });
}

void extend(X509* certificate, int what, const std::string& value) {
    X509_EXTENSION* e = X509V3_EXT_nconf_nid(nullptr, nullptr, what, value.c_str());
    check(e != nullptr && X509_add_ext(certificate, e, -1) == 1);
    X509_EXTENSION_free(e);
}

// A certificate that the key of issuer will sign; nullptr: self-signed.
certificate_ptr make(const std::string& name, EVP_PKEY* key, X509* issuer, long from, long until) {
    static std::atomic<long> serial = 1;
    certificate_ptr made(X509_new(), &X509_free);
    check(made != nullptr);
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), from);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), until);
    X509_set_pubkey(made.get(), key);
    X509_NAME* subject = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name.c_str()), -1,
                               -1, 0);
    X509_set_issuer_name(made.get(), issuer != nullptr ? X509_get_subject_name(issuer) : subject);
    extend(made.get(), NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
    return made;
}

void sign(X509* certificate, EVP_PKEY* by) { check(X509_sign(certificate, by, EVP_sha256()) > 0); }

}  // namespace

struct authority::keys {
    key_ptr key{nullptr, &EVP_PKEY_free};
    certificate_ptr certificate{nullptr, &X509_free};
};

authority::authority(const std::string& name) : keys_(std::make_unique<keys>()) {
    keys_->key = make_key(key_kind::elliptic);
    EVP_PKEY* key = keys_->key.get();
    keys_->certificate = make(name, key, nullptr, -86400, 86400);
    extend(keys_->certificate.get(), NID_key_usage, "critical,keyCertSign");
    sign(keys_->certificate.get(), key);
    pem_ = pem_of(keys_->certificate.get());
}

authority::~authority() = default;

tls::certificate authority::issue(const certificate_options& options) const {
    const key_ptr key = make_key(options.kind);
    const certificate_ptr made =
        make(options.hosts.front(), key.get(), keys_->certificate.get(), options.valid_from, options.valid_until);
    std::string names;
    for (const std::string& host : options.hosts) {
        const bool is_address = host.find_first_not_of("0123456789.") == std::string::npos;
        names += (names.empty() ? "" : ",") + std::string(is_address ? "IP:" : "DNS:") + host;
    }
    extend(made.get(), NID_subject_alt_name, names);
    sign(made.get(), keys_->key.get());
    return {pem_of(made.get()), pem_of(key.get())};
}

const authority& test_authority() {
    static const authority the_one;
    return the_one;
}

std::string encrypted_key() {
    const key_ptr key = make_key(key_kind::elliptic);
    char password[] = "secret";
    return pem_of([&](BIO* b) {
        return PEM_write_bio_PKCS8PrivateKey(b, key.get(), EVP_aes_128_cbc(), password, sizeof(password) - 1, nullptr,
                                             nullptr);
    });
}

}  // namespace weft::test
