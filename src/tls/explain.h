// explain.h: translates OpenSSL's failures into our error codes and into readable text.
//
// OpenSSL keeps its errors in a queue per OS thread. A caller of libssl empties the queue first,
// and reads it before any call that may park. Afterwards the green thread may be on another OS
// thread, whose queue holds unrelated errors.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include "tls/handle.h"

namespace weft::tls::detail {

struct failure {
    std::error_code code;
    std::string text;  // details: names, dates, reasons; one line
};

// Explains the oldest error in the calling thread's queue, and empties the queue. in_handshake:
// whether the handshake was still running.
[[nodiscard]] failure explain_library(bool in_handshake);

// Explains why certificate at, presented by the peer, is not valid. reason: an X509_V_ERR_
// constant. host: the host it should be for.
[[nodiscard]] failure explain_certificate(int reason, X509* at, std::string_view host);

// A certificate's subject or issuer as one line.
[[nodiscard]] std::string name_of(const X509_NAME* name);

// OpenSSL's text for the oldest error in the queue, for unreadable certificates and keys. Empties
// the queue.
[[nodiscard]] std::string library_words();

}  // namespace weft::tls::detail
