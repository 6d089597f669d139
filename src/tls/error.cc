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
                return "the connection ended without the other side having said so: what was read may not be all";
            case errc::ended_in_handshake:
                return "the other side ended the connection in the middle of the handshake: see its log";
            case errc::not_tls:
                return "the other side does not speak TLS: is this the right port?";
            case errc::protocol_version:
                return "the two sides have no version of TLS in common: see minimum in the options, and update the "
                       "older side";
            case errc::no_common_cipher:
                return "the two sides have no cipher, signature algorithm or curve in common: update the older side";
            case errc::no_common_protocol:
                return "the two sides have no application protocol in common: see protocols in the options";
            case errc::bad_certificate:
                return "the other side's certificate is not good, or not for this use: it needs another one";
            case errc::certificate_expired:
                return "the other side's certificate has expired: it has to be renewed, unless this machine's clock is "
                       "wrong";
            case errc::certificate_not_yet:
                return "the other side's certificate is not valid yet: is this machine's clock right?";
            case errc::unknown_authority:
                return "nobody who is trusted has signed the other side's certificate: add its authority to trusted, "
                       "in the options";
            case errc::wrong_host:
                return "the other side's certificate is for another host: connect by a name that is in it";
            case errc::certificate_revoked:
                return "the other side's certificate was revoked by its authority";
            case errc::no_certificate:
                return "the other side must show a certificate, and has none: see own in its options";
            case errc::certificate_refused:
                return "the other side does not take the certificate shown to it: see who signed it, for whom, and "
                       "until when";
            case errc::refused:
                return "the other side refuses to go on: see its log";
            case errc::protocol_error:
                return "what the other side sent is not TLS as it should be: damaged, forged, or a defect";
            case errc::unusable_credentials:
                return "this certificate or key cannot be used";
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
