// error.cc: see weft/http/error.h.
#include <weft/http/error.h>

namespace weft::http {

namespace {

class http_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "weft.http"; }

    [[nodiscard]] std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
            case errc::incomplete_body:
                return "the client closed the connection within the body of its request";
            case errc::body_too_large:
                return "the body of the request is larger than the limit: see body_max, and request::set_body_max()";
            case errc::body_too_slow:
                return "the body of the request did not arrive in time: see body_time";
            case errc::bad_body:
                return "the chunks of the request's body are malformed";
            case errc::encoded_body:
                return "the body of the request has a content coding: call request::allow_encoded_body() to read it as "
                       "it was sent";
            case errc::wrong_length:
                return "the handler wrote more than the Content-Length that it had set: leave that field to the server";
        }
        return "unknown error " + std::to_string(code);
    }
};

}  // namespace

const std::error_category& error_category() noexcept {
    static const http_category category;
    return category;
}

}  // namespace weft::http
