#include "site.h"

#include <new>
#include <string_view>

#include "api.h"
#include "request_path.h"
#include "static_files.h"

namespace http_server {

namespace {

bool reads(const request& r) { return r.method() == http::verb::get || r.method() == http::verb::head; }

answer wrong_method(std::string_view allowed) {
    answer a = answer_with_reason(http::status::method_not_allowed, "the allowed methods are " + std::string(allowed));
    a.set(http::field::allow, allowed);
    return a;
}

}  // namespace

answer site::granted(const request& r) const {
    const request_path path = parse_target({r.target().data(), r.target().size()});
    if (path.relative == "api/stats") return reads(r) ? answer_with_stats(counted_) : wrong_method("GET, HEAD");
    if (path.relative == "api/echo") return r.method() == http::verb::post ? answer_with_echo(r) : wrong_method("POST");
    return reads(r) ? answer_with_file(root_, r, path) : wrong_method("GET, HEAD");
}

answer site::answer_to(const request& r) const {
    try {
        return granted(r);
    } catch (const refusal& no) {
        return answer_with_reason(no.status, no.why);
    } catch (const std::bad_alloc&) {
        return answer_with_reason(http::status::service_unavailable, "no memory");
    }
}

}  // namespace http_server
