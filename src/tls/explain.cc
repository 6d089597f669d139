// explain.cc: see explain.h.
#include "tls/explain.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <weft/tls/error.h>

namespace weft::tls::detail {

namespace {

std::string text_of(BIO* memory) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(memory, &data);
    return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::string date_of(const ASN1_TIME* t) {
    const bio_handle memory(BIO_new(BIO_s_mem()));
    if (memory == nullptr || t == nullptr || ASN1_TIME_print(memory.get(), t) != 1) return "?";
    return text_of(memory.get());
}

std::string hosts_of(X509* certificate) {
    using names_handle = std::unique_ptr<GENERAL_NAMES, freed_by<GENERAL_NAMES_free>>;
    const names_handle names(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    std::string all;
    const int count = names == nullptr ? 0 : sk_GENERAL_NAME_num(names.get());
    for (int i = 0; i < count; ++i) {
        const bio_handle memory(BIO_new(BIO_s_mem()));
        if (memory == nullptr || GENERAL_NAME_print(memory.get(), sk_GENERAL_NAME_value(names.get(), i)) != 1) continue;
        if (!all.empty()) all += ", ";
        all += text_of(memory.get());
    }
    return all.empty() ? "no host" : all;
}

errc code_of_certificate(int reason) {
    switch (reason) {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return errc::certificate_expired;
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return errc::certificate_not_yet;
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH:
            return errc::wrong_host;
        case X509_V_ERR_CERT_REVOKED:
            return errc::certificate_revoked;
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_CERT_UNTRUSTED:
            return errc::unknown_authority;
        default:
            return errc::bad_certificate;
    }
}

errc code_of_alert(int alert) {
    switch (alert) {
        case SSL_AD_BAD_CERTIFICATE:
        case SSL_AD_UNSUPPORTED_CERTIFICATE:
        case SSL_AD_CERTIFICATE_REVOKED:
        case SSL_AD_CERTIFICATE_EXPIRED:
        case SSL_AD_CERTIFICATE_UNKNOWN:
        case SSL_AD_UNKNOWN_CA:
        case SSL_AD_CERTIFICATE_REQUIRED:
            return errc::certificate_refused;
        case SSL_AD_PROTOCOL_VERSION:
        case SSL_AD_INAPPROPRIATE_FALLBACK:
            return errc::protocol_version;
        case SSL_AD_NO_APPLICATION_PROTOCOL:
            return errc::no_common_protocol;
        case SSL_AD_INSUFFICIENT_SECURITY:
            return errc::no_common_cipher;
        default:
            return errc::refused;
    }
}

errc code_of_reason(int reason, bool in_handshake) {
    switch (reason) {
        case SSL_R_HTTP_REQUEST:
        case SSL_R_HTTPS_PROXY_REQUEST:
            return errc::not_tls;
        case SSL_R_WRONG_VERSION_NUMBER:
            return in_handshake ? errc::not_tls : errc::protocol_error;
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_UNKNOWN_PROTOCOL:
        case SSL_R_VERSION_TOO_LOW:
        case SSL_R_VERSION_TOO_HIGH:
        case SSL_R_WRONG_SSL_VERSION:
        case SSL_R_NO_PROTOCOLS_AVAILABLE:
        case SSL_R_INAPPROPRIATE_FALLBACK:
            return errc::protocol_version;
        case SSL_R_NO_SHARED_CIPHER:
        case SSL_R_NO_CIPHERS_AVAILABLE:
        case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
        case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        case SSL_R_NO_SHARED_GROUPS:
        case SSL_R_NO_SUITABLE_KEY_SHARE:
        case SSL_R_NO_SUITABLE_GROUPS:
            return errc::no_common_cipher;
        case SSL_R_NO_APPLICATION_PROTOCOL:
            return errc::no_common_protocol;
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            return errc::no_certificate;
        default:
            return errc::protocol_error;
    }
}

}  // namespace

std::string name_of(const X509_NAME* name) {
    const bio_handle memory(BIO_new(BIO_s_mem()));
    if (memory == nullptr || name == nullptr) return "?";
    if (X509_NAME_print_ex(memory.get(), name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB) < 0) return "?";
    return text_of(memory.get());
}

std::string library_words() {
    const unsigned long error = ERR_get_error();
    ERR_clear_error();
    const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
    return reason != nullptr ? reason : "OpenSSL gives no reason";
}

failure explain_library(bool in_handshake) {
    const unsigned long error = ERR_peek_error();
    const int reason = ERR_GET_REASON(error);
    if (error == 0 || ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) {
        return {std::make_error_code(std::errc::not_enough_memory), library_words()};
    }
    if (ERR_GET_LIB(error) != ERR_LIB_SSL) return {errc::protocol_error, library_words()};
    if (reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256) {
        const int alert = reason - SSL_AD_REASON_OFFSET;
        ERR_clear_error();
        // OpenSSL 3.0 has no text for that one.
        const char* words =
            alert == SSL_AD_CERTIFICATE_REQUIRED ? "certificate required" : SSL_alert_desc_string_long(alert);
        return {code_of_alert(alert), std::string("the peer sent the alert \"") + words + '"'};
    }
    return {code_of_reason(reason, in_handshake), library_words()};
}

failure explain_certificate(int reason, X509* at, std::string_view host) {
    const errc code = code_of_certificate(reason);
    if (at == nullptr) return {code, X509_verify_cert_error_string(reason)};
    std::string text = "the certificate of \"" + name_of(X509_get_subject_name(at)) + '"';
    switch (code) {
        case errc::certificate_expired:
            text += " expired on " + date_of(X509_get0_notAfter(at));
            break;
        case errc::certificate_not_yet:
            text += " is not valid before " + date_of(X509_get0_notBefore(at));
            break;
        case errc::wrong_host:
            text += " is for " + hosts_of(at) + ", not for \"" + std::string(host) + '"';
            break;
        case errc::unknown_authority:
            text += " is signed by \"" + name_of(X509_get_issuer_name(at)) + '"';
            break;
        default:
            text += std::string(": ") + X509_verify_cert_error_string(reason);
            break;
    }
    return {code, text};
}

}  // namespace weft::tls::detail
