// explain.h: what OpenSSL says about a failure, as an error code of ours and as words for people.
//
// OpenSSL keeps its errors in a queue for each OS thread. Whoever calls libssl empties it before, and reads it before anything is
// called that may park: afterwards the green thread may be on another OS thread, whose queue tells of somebody else's errors.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include "tls/handle.h"

namespace weft::tls::detail {

struct failure {
    std::error_code code;
    std::string text;  // what exactly: names, dates, reasons; one line
};

// The oldest error in the queue of the calling thread, which is empty afterwards. in_handshake: it was not over.
[[nodiscard]] failure explain_library(bool in_handshake);

// Why certificate at, which the other side has shown, is not good: an X509_V_ERR_ constant. host: whom it was to be for.
[[nodiscard]] failure explain_certificate(int reason, X509* at, std::string_view host);

// A certificate's subject or issuer as one line.
[[nodiscard]] std::string name_of(const X509_NAME* name);

// The oldest error in the queue as OpenSSL words it, for certificates and keys that cannot be read. The queue is empty afterwards.
[[nodiscard]] std::string library_words();

}  // namespace weft::tls::detail
