// connection_handle.cc: calls the handler of a request. See connection.h.
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>

#include <weft/cancel.h>
#include <weft/error.h>

#include "http/connection.h"
#include "http/target.h"
#include "http/text.h"

namespace weft::http::detail {

// A status with a line of text, in place of the handler's body. Fields that describe that body are
// removed; others, which may come from middleware, are kept.
void connection::answer(unsigned code, std::string_view text) {
    response_parts& w = access::parts(response_);
    if (w.has_begun) return;
    for (const std::string_view of_body : {"Content-Length", "Content-Encoding", "Content-Range", "Accept-Ranges",
                                           "ETag", "Last-Modified", "Location"}) {
        w.fields.erase(of_body);
    }
    is_too_long_ = false;
    w.trailers.clear();
    w.status = code;
    w.fields.set("Content-Type", "text/plain; charset=utf-8");
    w.fields.set("X-Content-Type-Options", "nosniff");
    w.unsent = std::to_string(code);
    (w.unsent += ' ') += reason_of(code);
    if (!text.empty()) (w.unsent += ": ") += text;
    w.unsent += '\n';
    w.body_bytes = w.unsent.size();
}

// Splits the target, and finds the handler.
void connection::find_route() {
    request_parts& r = access::parts(request_);
    const std::optional<split_target> parts = split(r.target);
    if (!parts || (parts->path == "*" && r.method != "OPTIONS")) {
        bad_target_ = "the target must begin with a slash";
        return;
    }
    std::optional<std::string> decoded = decoded_path(parts->path);
    if (!decoded) {
        bad_target_ = "the path has a segment \"..\", a NUL, or a percent sign without two digits";
        return;
    }
    r.path = std::move(*decoded);
    r.query = parts->query;
    path_ = parts->path;
    if (path_ == "*") return;
    clean_path_ = clean_path(path_);
    if (!clean_path_) route_ = server_.routes.find(r.method, path_, r.params);
    if (route_ != nullptr) r.pattern = route_->fits.text;
}

namespace {

// A target for Location. Browsers take a backslash for a slash, and "/\\host" for another host.
std::string location_of(std::string_view path, std::string_view query) {
    std::string to;
    for (const char c : path) {
        if (c == '\\') {
            to += "%5C";
        } else {
            to += c;
        }
    }
    if (!query.empty()) (to += '?') += query;
    return to;
}

}  // namespace

// 404, 405, a redirection to the clean path or to the same path with a slash, or what OPTIONS asks
// for.
void connection::answer_without_route() {
    const request_parts& r = access::parts(request_);
    if (path_ == "*") {
        response_.status(status::no_content);
        return;
    }
    if (clean_path_) {
        answer(status::permanent_redirect, {});
        access::parts(response_).fields.set("Location", location_of(*clean_path_, r.query));
        return;
    }
    if (!path_.ends_with('/') && server_.routes.is_without_slash(r.method, path_)) {
        response_.redirect(location_of(std::string(path_) + '/', r.query), status::permanent_redirect);
        return;
    }
    std::string allowed = server_.routes.allowed(path_);
    if (allowed.empty()) {
        answer(status::not_found, "there is nothing at this path");
        return;
    }
    if (r.method == "OPTIONS") {
        response_.status(status::no_content).set("Allow", allowed + ", OPTIONS");
        return;
    }
    answer(status::method_not_allowed, "the allowed methods are " + allowed);
    access::parts(response_).fields.set("Allow", allowed);
}

void connection::dispatch() {
    if (bad_target_ != nullptr) {
        answer(status::bad_request, bad_target_);
    } else if (route_ == nullptr) {
        answer_without_route();
    } else {
        route_->call(request_, response_);
    }
}

void connection::report(const std::exception_ptr& e) noexcept {
    try {
        if (server_.how.on_exception) {
            server_.how.on_exception(e, request_);
            return;
        }
        std::string what = "an exception that is no std::exception";
        try {
            std::rethrow_exception(e);
        } catch (const std::exception& known) {
            what = known.what();
        } catch (const weft::cancelled& known) {
            what = known.what();
        } catch (...) {
            // Its type is not known.
        }
        std::fprintf(stderr, "weft: http: the handler of %s threw: %s\n",
                     route_ != nullptr ? route_->fits.text.c_str() : "no pattern", what.c_str());
    } catch (...) {
        std::fputs("weft: http: on_exception threw\n", stderr);
    }
}

namespace {

// What the client is told about it.
const char* text_of(const std::error_code& ec) noexcept {
    if (ec == errc::body_too_large) return "the body is too large";
    if (ec == errc::body_too_slow) return "the request did not arrive in time";
    if (ec == errc::encoded_body) return "send the body without a content coding";
    return "the body is malformed";
}

// The status for an error of reading the body that the handler did not handle; 0 for others.
unsigned status_of(const std::error_code& ec) noexcept {
    if (ec == errc::body_too_large) return status::content_too_large;
    if (ec == errc::body_too_slow) return status::request_timeout;
    if (ec == errc::bad_body) return status::bad_request;
    if (ec == errc::encoded_body) return status::unsupported_media_type;
    return 0;
}

}  // namespace

// Turns the current exception of a handler into a response.
void connection::handle_exception(bool is_cancelled) {
    unsigned code = status::internal_server_error;
    std::string text;
    try {
        throw;
    } catch (const failure& f) {
        if (f.status() >= 400 && f.status() <= 599) code = f.status();
        text = f.what();
    } catch (const weft::cancelled&) {
        if (is_cancelled) {
            is_broken_ = true;  // the client has gone, or the server cuts it off
        } else {
            report(std::current_exception());  // from a scope of the handler's own
        }
    } catch (const weft::timed_out&) {
        code = status::service_unavailable;
        text = "the request took too long";
    } catch (const std::system_error& e) {
        code = status_of(e.code());
        is_broken_ = is_broken_ || e.code() == errc::incomplete_body;
        if (code == 0) {
            code = status::internal_server_error;
            if (!is_broken_ || e.code() == errc::wrong_length) report(std::current_exception());
        } else {
            text = text_of(e.code());
        }
    } catch (const std::bad_alloc&) {
        code = status::service_unavailable;
        text = "no memory";
    } catch (...) {
        report(std::current_exception());
    }
    if (response_.has_begun()) is_broken_ = true;
    if (is_broken_) return;
    answer(code, text);
    if (code == status::unsupported_media_type && request_.headers().has("Content-Encoding"))
        access::parts(response_).fields.set("Accept-Encoding", "identity");
}

// The same. If there is no memory for an answer, the connection ends.
void connection::answer_exception(bool is_cancelled) noexcept {
    try {
        handle_exception(is_cancelled);
    } catch (...) {
        is_broken_ = true;
    }
}

// With the request's context around it: what cancels the handler's waits.
void connection::call_inside() {
    using weft::detail::never;
    const auto limit = server_.how.handler_time;
    const int64_t deadline = limit.count() == 0 ? never : weft::detail::deadline_after(limit);
    weft::detail::cancel_context running(weft::detail::enclosing_context(), deadline);
    const bool is_watched = server_.how.cancel_if_client_gone;
    watch_->begin(running, !parser().is_done(), is_watched);
    if (server_.is_cut_off()) running.cancel();
    try {
        const weft::detail::ambient_scope inside(&running);
        if (server_.chain) {
            server_.chain(request_, response_);
        } else {
            dispatch();
        }
    } catch (...) {
        answer_exception(running.requested());
    }
    if (watch_->end()) is_broken_ = true;
}

void connection::call_handler() {
    find_route();
    call_inside();
}

}  // namespace weft::http::detail
