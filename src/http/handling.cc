// handling.cc: see handling.h.
#include "http/handling.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>

#include <weft/cancel.h>
#include <weft/error.h>

#include "http/target.h"
#include "http/text.h"

namespace weft::http::detail {

void handling::reset_handling() {
    request_parts& r = access::parts(request_);
    r.method.clear();
    r.target.clear();
    r.path.clear();
    r.query = r.pattern = {};
    r.params.clear();
    r.fields.clear();
    r.trailers.clear();
    r.content_length.reset();
    r.allows_encoded_body = false;
    response_parts& w = access::parts(response_);
    w.status = status::ok;
    w.has_begun = false;
    w.body_bytes = 0;
    w.fields.clear();
    w.trailers.clear();
    w.unsent.clear();
    w.filter = nullptr;
    began_ = clock::now();
    route_ = nullptr;
    bad_target_ = nullptr;
    clean_path_.reset();
    sent_ = 0;
    is_head_request_ = is_broken_ = is_too_long_ = false;
}

// A status with a line of text, in place of the handler's body. Fields that describe that body are
// removed; others, which may come from middleware, are kept.
void handling::answer(unsigned code, std::string_view text) {
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

void handling::find_route() {
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
void handling::answer_without_route() {
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

void handling::dispatch() {
    if (bad_target_ != nullptr) {
        answer(status::bad_request, bad_target_);
    } else if (route_ == nullptr) {
        answer_without_route();
    } else {
        route_->call(request_, response_);
    }
}

void handling::report(const std::exception_ptr& e) noexcept {
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
void handling::handle_exception(bool is_cancelled) {
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
void handling::answer_exception(bool is_cancelled) noexcept {
    try {
        handle_exception(is_cancelled);
    } catch (...) {
        is_broken_ = true;
    }
}

void handling::report_length(uint64_t said, const std::string& wrote) {
    report(std::make_exception_ptr(std::length_error("weft: it set Content-Length to " + std::to_string(said) +
                                                     ", and wrote " + wrote + ": leave that field to the server")));
}

void handling::report_size(std::size_t bytes, std::size_t most) {
    report(std::make_exception_ptr(std::length_error("weft: the header or the trailers of the response have " +
                                                     std::to_string(bytes) + " bytes, more than the " +
                                                     std::to_string(most) + " that HTTP/2 sends: set shorter fields")));
}

bool handling::send_rest(std::error_code& ec) {
    response_parts& w = access::parts(response_);
    if (is_too_long_) {
        report_length(announced_size().value_or(0), "more");
        answer(status::internal_server_error, {});
    }
    if (!w.has_begun && (w.trailers.empty() || request_.version() < 11)) {
        finish_whole(ec);
        return false;
    }
    if (!w.has_begun || !w.unsent.empty()) {
        const std::array<net::const_buffer, 1> rest{net::const_buffer(w.unsent)};
        send_body(rest, ec);
        if (ec == errc::wrong_length) report_length(announced_size().value_or(0), "more");
        if (is_too_long_) {
            answer(status::internal_server_error, {});
            finish_whole(ec);
            return false;
        }
    }
    return !ec;
}

std::optional<uint64_t> handling::announced_size() const {
    const std::string_view text = response_.headers().get("Content-Length");
    uint64_t n = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (text.empty() || failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return n;
}

bool handling::status_has_body(unsigned code) noexcept {
    return code != status::no_content && code != status::not_modified;
}

bool handling::has_body() const noexcept { return !is_head_request_ && status_has_body(response_.status()); }

bool handling::is_encoded_unexpectedly() const noexcept {
    const headers& fields = request_.headers();
    return fields.has("Content-Encoding") && !same_text(fields.get("Content-Encoding"), "identity");
}

std::string handling::first_line() const {
    std::string line(request_.method());
    ((line += ' ') += request_.target()) += request_.version() < 11    ? " HTTP/1.0"
                                            : request_.version() == 11 ? " HTTP/1.1"
                                                                       : " HTTP/2.0";
    return line;
}

void handling::log(std::string_view peer, std::string_view first_line) {
    const unsigned code = response_.status();
    if (code != client_closed_request) ++server_.counted.responses[std::min(code / 100, 5U)];
    server_.counted.body_bytes_sent += sent_;
    if (server_.how.access_log) server_.how.access_log({peer, first_line, code, sent_, clock::now() - began_});
}

void handling::call_chain(weft::detail::cancel_context& running) {
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
}

}  // namespace weft::http::detail
