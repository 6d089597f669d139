// error.h: what goes wrong with TLS, and what to do about it.
//
// Errors of the network below (std::errc::connection_reset …) and of weft (weft::errc::timed_out, cancelled, closed) are reported as they
// are; these are for what TLS itself has to say. An error code says what kind of failure it was and what remedy there is; which
// certificate, which host, which alert it was is in what() of the exception, or in stream::failure().
//
// See: docs/tls.md
#pragma once

#include <string>
#include <system_error>

#include <weft/detail/require.h>

namespace weft::tls {

enum class errc {
    truncated = 1,         // the connection ended, and the other side had not said that this is the end
    ended_in_handshake,    // … before there was a secure connection
    not_tls,               // the other side speaks something else: plain HTTP, say
    protocol_version,      // no version of TLS that both sides accept
    no_common_cipher,      // … no cipher, signature algorithm or curve
    no_common_protocol,    // … no application protocol (ALPN)
    bad_certificate,       // the other side's certificate: malformed, or not made for this use
    certificate_expired,   // … its time is over
    certificate_not_yet,   // … its time has not come
    unknown_authority,     // … nobody who is trusted has signed it
    wrong_host,            // … is for another host
    certificate_revoked,   // … its authority has taken it back
    no_certificate,        // the other side had to show one, and has none
    certificate_refused,   // the other side does not take ours
    refused,               // the other side has ended it with an alert for another reason
    protocol_error,        // what came is not what the protocol allows: damaged, forged, or a defect
    unusable_credentials,  // a certificate or key of our own cannot be used
};

[[nodiscard]] const std::error_category& error_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
    return {static_cast<int>(e), error_category()};
}

}  // namespace weft::tls

template <>
struct std::is_error_code_enum<weft::tls::errc> : std::true_type {};
