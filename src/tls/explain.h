// explain.h: translates OpenSSL's failures into error codes and text.
//
// OpenSSL keeps its errors in a queue per OS thread. Read it before any call that may park: see
// engine.h.
#pragma once

#include <string>
#include <string_view>
#include <system_error>

#include "tls/handle.h"

namespace weft::tls::detail {

struct failure {
    std::error_code code;
    std::string text;  // details in one line
};

// Explains the oldest error in the queue, and empties the queue.
[[nodiscard]] failure explain_library(bool in_handshake);

// reason: an X509_V_ERR_ constant. host: the host that certificate at should be for.
[[nodiscard]] failure explain_certificate(int reason, X509* at, std::string_view host);

[[nodiscard]] std::string name_of(const X509_NAME* name);

// OpenSSL's text for the oldest error in the queue. Empties the queue.
[[nodiscard]] std::string library_words();

}  // namespace weft::tls::detail
