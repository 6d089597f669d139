// error.h: errors of TLS, and their remedies.
//
// Errors of the network below (std::errc::connection_reset …) and of weft (weft::errc::timed_out,
// cancelled, closed) are reported unchanged. These codes are for failures of TLS itself. An error
// code names the kind of failure and its remedy. what() of the exception, or stream::failure(),
// tells which certificate, host or alert it was.
//
// See: docs/tls.md
#pragma once

#include <string>
#include <system_error>

#include <weft/detail/require.h>

namespace weft::tls {

enum class errc {
    truncated = 1,         ///< the connection ended without the peer's end of stream
    ended_in_handshake,    ///< … before there was a secure connection
    not_tls,               ///< the peer speaks another protocol, e.g. plain HTTP
    protocol_version,      ///< no common version of TLS
    no_common_cipher,      ///< … no cipher, signature algorithm or curve
    no_common_protocol,    ///< … no application protocol (ALPN)
    bad_certificate,       ///< the peer's certificate: malformed, or not valid for this use
    certificate_expired,   ///< … has expired
    certificate_not_yet,   ///< … is not valid yet
    unknown_authority,     ///< … is not signed by a trusted authority
    wrong_host,            ///< … is for another host
    certificate_revoked,   ///< … was revoked by its authority
    no_certificate,        ///< the peer had to present a certificate and has none
    certificate_refused,   ///< the peer does not accept our certificate
    refused,               ///< the peer ended the connection with another alert
    protocol_error,        ///< received data violates the protocol: damaged, forged, or a defect
    unusable_credentials,  ///< our own certificate or key cannot be used
};

[[nodiscard]] const std::error_category& error_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

}  // namespace weft::tls

template <>
struct std::is_error_code_enum<weft::tls::errc> : std::true_type {};
