// body_filter.h: changes the body of a response on its way to the client.
//
// Protocol. Middleware sets response_parts::filter while it calls the next handler. When the first
// part of the body is about to be sent, begin() looks at the header and decides whether this
// response is changed; it may change the header then. If so, each part goes through add(). At the
// end the middleware itself adds what is left.
#pragma once

#include <string>
#include <string_view>

#include <weft/http/response.h>

namespace weft::http::detail {

class body_filter {
public:
    body_filter() = default;
    body_filter(const body_filter&) = delete;
    body_filter& operator=(const body_filter&) = delete;

    // Before the header is sent. Returns whether the body is changed.
    [[nodiscard]] virtual bool begin(response_parts& w) = 0;

    // Whether begin() would change a body of that size.
    [[nodiscard]] virtual bool would_change(const response_parts& w, uint64_t size) const = 0;

    [[nodiscard]] virtual bool is_active() const noexcept = 0;

    // Appends what must be sent for the data. is_flushed: the receiver must be able to use all of
    // it.
    virtual void add(std::string_view data, bool is_flushed, std::string& to) = 0;

protected:
    ~body_filter() = default;
};

}  // namespace weft::http::detail
