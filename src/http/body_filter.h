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

    // For a body of that size that does not pass through write(). Adds what belongs to the header
    // even if the body is not changed. Returns whether begin() would change it.
    [[nodiscard]] virtual bool would_change(response_parts& w, uint64_t size) = 0;

    // For a response without a body: makes the header that of the changed body of that size, if it
    // would be changed.
    virtual void begin_without_body(response_parts& w, uint64_t size) = 0;

    [[nodiscard]] virtual bool is_active() const noexcept = 0;

    // Appends what must be sent for the data. is_flushed: the receiver must be able to use all of
    // it.
    virtual void add(std::string_view data, bool is_flushed, std::string& to) = 0;

protected:
    ~body_filter() = default;
};

}  // namespace weft::http::detail
