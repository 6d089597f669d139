// status.cc: see weft/http/status.h.
#include <algorithm>
#include <array>
#include <utility>

#include <weft/http/status.h>

namespace weft::http {

namespace {

using named_code = std::pair<unsigned, std::string_view>;

// RFC 9110, 15, and the registry of IANA. In order.
constexpr std::array reasons = {
    named_code{100, "Continue"},
    named_code{101, "Switching Protocols"},
    named_code{200, "OK"},
    named_code{201, "Created"},
    named_code{202, "Accepted"},
    named_code{203, "Non-Authoritative Information"},
    named_code{204, "No Content"},
    named_code{205, "Reset Content"},
    named_code{206, "Partial Content"},
    named_code{300, "Multiple Choices"},
    named_code{301, "Moved Permanently"},
    named_code{302, "Found"},
    named_code{303, "See Other"},
    named_code{304, "Not Modified"},
    named_code{307, "Temporary Redirect"},
    named_code{308, "Permanent Redirect"},
    named_code{400, "Bad Request"},
    named_code{401, "Unauthorized"},
    named_code{402, "Payment Required"},
    named_code{403, "Forbidden"},
    named_code{404, "Not Found"},
    named_code{405, "Method Not Allowed"},
    named_code{406, "Not Acceptable"},
    named_code{408, "Request Timeout"},
    named_code{409, "Conflict"},
    named_code{410, "Gone"},
    named_code{411, "Length Required"},
    named_code{412, "Precondition Failed"},
    named_code{413, "Content Too Large"},
    named_code{414, "URI Too Long"},
    named_code{415, "Unsupported Media Type"},
    named_code{416, "Range Not Satisfiable"},
    named_code{417, "Expectation Failed"},
    named_code{421, "Misdirected Request"},
    named_code{422, "Unprocessable Content"},
    named_code{426, "Upgrade Required"},
    named_code{428, "Precondition Required"},
    named_code{429, "Too Many Requests"},
    named_code{431, "Request Header Fields Too Large"},
    named_code{451, "Unavailable For Legal Reasons"},
    named_code{500, "Internal Server Error"},
    named_code{501, "Not Implemented"},
    named_code{502, "Bad Gateway"},
    named_code{503, "Service Unavailable"},
    named_code{504, "Gateway Timeout"},
    named_code{505, "HTTP Version Not Supported"},
    named_code{507, "Insufficient Storage"},
    named_code{511, "Network Authentication Required"},
};

}  // namespace

std::string_view reason_of(unsigned code) noexcept {
    const auto at = std::lower_bound(reasons.begin(), reasons.end(), code,
                                     [](const named_code& r, unsigned wanted) { return r.first < wanted; });
    return at != reasons.end() && at->first == code ? at->second : std::string_view();
}

}  // namespace weft::http
