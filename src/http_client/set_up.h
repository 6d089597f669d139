// set_up.h: turns a request into an easy handle of libcurl, with all options.
//
// The caller does this, not the driver: it takes longer than most of what the driver does.
#pragma once

#include <memory>
#include <string>

#include <weft/http/client.h>

#include "http_client/transfer.h"

namespace weft::http::detail {

// One hop: where the request goes after redirects, and what is left of it.
struct hop {
    std::string url;
    std::string method;
    bool keeps_body;       // the body, and what the header says of it
    bool has_credentials;  // Authorization, Cookie and such are sent
};

using shared_text = std::shared_ptr<const std::string>;

// body is sent in place of r.body. Throws std::bad_alloc, std::invalid_argument.
[[nodiscard]] std::shared_ptr<transfer> set_up(const client_options& how,
                                               const client_request& r,
                                               const shared_text& body,
                                               const hop& to);

}  // namespace weft::http::detail
