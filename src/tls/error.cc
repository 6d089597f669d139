// error.cc: see weft/tls/error.h.
#include <weft/tls/error.h>

namespace weft::tls {

namespace {

class tls_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "weft.tls"; }

    [[nodiscard]] std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
            case errc::truncated:
                return "the peer ended the connection without a close_notify alert: the data may be incomplete";
            case errc::ended_in_handshake:
                return "the peer ended the connection during the handshake: see its log";
            case errc::not_tls:
                return "the peer does not speak TLS: check the port";
            case errc::protocol_version:
                return "the two sides have no version of TLS in common: see minimum in the options, and update the "
                       "older side";
            case errc::no_common_cipher:
                return "the two sides have no cipher, signature algorithm or curve in common: update the older side";
            case errc::no_common_protocol:
                return "the two sides have no application protocol in common: see protocols in the options";
            case errc::bad_certificate:
                return "the peer's certificate is invalid, or not for this use: the peer needs another one";
            case errc::certificate_expired:
                return "the peer's certificate has expired: renew it, or set this machine's clock";
            case errc::certificate_not_yet:
                return "the peer's certificate is not valid yet: check this machine's clock";
            case errc::unknown_authority:
                return "no trusted authority has signed the peer's certificate: add its authority to trusted, in the "
                       "options";
            case errc::wrong_host:
                return "the peer's certificate is for another host: connect by a name that the certificate contains";
            case errc::certificate_revoked:
                return "the peer's certificate was revoked by its authority: the peer needs a new one";
            case errc::no_certificate:
                return "the peer must present a certificate, and has none: set own in its options";
            case errc::certificate_refused:
                return "the peer refused the certificate of this side: check its authority, its hosts and its dates";
            case errc::refused:
                return "the peer refused the connection: see its log";
            case errc::protocol_error:
                return "the peer violated the TLS protocol: its data is damaged or forged, or the peer has a bug";
            case errc::unusable_credentials:
                return "this certificate or key cannot be used: check the PEM text";
        }
        return "unknown error " + std::to_string(code);
    }
};

}  // namespace

const std::error_category& error_category() noexcept {
    static const tls_category category;
    return category;
}

}  // namespace weft::tls
