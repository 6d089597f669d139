// send_content.cc: see send_content.h.
#include "http/send_content.h"

#include <string>

#include <weft/http/error.h>
#include <weft/http/status.h>

#include "http/body_filter.h"
#include "http/byte_range.h"
#include "http/date.h"
#include "http/exchange.h"

namespace weft::http::detail {

namespace {

byte_range wanted_part(const request& r, const content& c) {
    if (r.method() != "GET" || !range_fits(r, c.known) || r.headers().count("Range") != 1) return {};
    return parse_range(r.header("Range"), c.size);
}

void send_part(response& w, const content& c, uint64_t first, uint64_t size) {
    if (c.file != nullptr) {
        w.send_file(*c.file, first, size);
    } else {
        const std::string_view part = c.bytes.substr(first, size);
        w.set("Content-Length", std::to_string(part.size())).write(part);
    }
}

// A response 304 has the tag and the Vary of the 200 that it stands for (RFC 9110, 15.4.5).
void describe_unsent(response& w, const content& c) {
    response_parts& parts = access::parts(w);
    if (parts.filter == nullptr) return;
    if (!w.headers().has("Content-Type")) w.set("Content-Type", c.type);
    parts.filter->begin_without_body(parts, c.size);
}

void refuse_range(response& w, const content& c) {
    w.status(status::range_not_satisfiable).set("Content-Range", "bytes */" + std::to_string(c.size));
    w.send("416 Range Not Satisfiable: the range begins after the end of the content\n");
}

}  // namespace

void check_is_read(const request& r, response& w) {
    if (r.method() == "GET" || r.method() == "HEAD") return;
    w.set("Allow", "GET, HEAD");
    throw failure(status::method_not_allowed, "the allowed methods are GET, HEAD");
}

void send_content(const request& r, response& w, const content& c) {
    check_is_read(r, w);
    if (!c.known.tag.empty()) w.set("ETag", c.known.tag);
    if (c.known.modified) w.set("Last-Modified", http_date(*c.known.modified));
    switch (check_conditions(r, c.known)) {
        case verdict::send:
            break;
        case verdict::not_modified:
            describe_unsent(w, c);
            w.erase("Content-Type").erase("Content-Encoding").status(status::not_modified);
            return;
        case verdict::failed:
            throw failure(status::precondition_failed, "the content is another one");
    }
    const byte_range part = wanted_part(r, c);
    if (part.what == byte_range::kind::unsatisfiable) {
        w.erase("Content-Encoding");
        refuse_range(w, c);
        return;
    }
    w.set("Accept-Ranges", "bytes").set("X-Content-Type-Options", "nosniff");
    if (!w.headers().has("Content-Type")) w.set("Content-Type", c.type);
    if (part.what == byte_range::kind::whole) {
        send_part(w, c, 0, c.size);
        return;
    }
    w.status(status::partial_content);
    w.set("Content-Range", "bytes " + std::to_string(part.first) + '-' + std::to_string(part.first + part.size - 1) +
                               '/' + std::to_string(c.size));
    send_part(w, c, part.first, part.size);
}

}  // namespace weft::http::detail
