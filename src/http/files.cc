// files.cc: see weft/http/files.h.
#include <stdexcept>
#include <system_error>
#include <utility>

#include <weft/http/error.h>
#include <weft/http/files.h>
#include <weft/http/status.h>

#include "http/accept.h"
#include "http/content_type.h"
#include "http/document_root.h"
#include "http/exchange.h"
#include "http/file_path.h"
#include "http/send_content.h"

namespace weft::http {

namespace {

using detail::access;
using detail::file_path;
using detail::opened_file;

// Throws failure for all errors but is_a_directory.
void refuse_unless_folder(const std::error_code& ec) {
    if (!ec || ec == std::errc::is_a_directory) return;
    if (ec == std::errc::no_such_file_or_directory) throw failure(status::not_found, "there is no such file");
    if (ec == std::errc::permission_denied)
        throw failure(status::forbidden, "the server has no permission to read that file");
    throw failure(status::service_unavailable, "the file cannot be opened at present; try again later");
}

// What the end of the pattern stands for.
std::string_view rest_of_path(request& r) {
    const std::string_view pattern = r.pattern();
    if (!pattern.ends_with("...}") && !pattern.ends_with('/')) {
        throw std::logic_error("weft: http::files cannot serve the pattern \"" + std::string(pattern) +
                               "\": end it with a slash or {path...}");
    }
    return access::parts(r).params.back().second;
}

void redirect_to_folder(const request& r, response& w) {
    file_path path = detail::parse_file_path(r.path(), true);
    path.is_folder = true;
    std::string to = detail::target_of(path);
    if (!r.query().empty()) (to += '?') += r.query();
    w.redirect(to, status::moved_permanently);
    w.send("301 Moved Permanently: this is a directory\n");
}

void send_opened(const request& r, response& w, opened_file& f, std::string_view name) {
    detail::send_content(r, w,
                         {.file = &f.file,
                          .size = f.size,
                          .type = detail::content_type_of(name),
                          .known = {.tag = f.tag, .modified = f.modified}});
}

// Replaces f by its compressed form, if there is one, and the client accepts it.
void prefer_compressed(
    const request& r, response& w, const detail::document_root& root, const std::string& name, opened_file& f) {
    detail::add_to_vary(access::parts(w).fields, "Accept-Encoding");
    if (!detail::accepts_coding(r.headers(), "gzip")) return;
    std::error_code ec;
    opened_file compressed = root.open(name + ".gz", ec);
    if (ec) return;
    f = std::move(compressed);
    w.set("Content-Encoding", "gzip");
}

}  // namespace

files::files(const std::string& directory, file_options how)
    : root_(std::make_shared<detail::document_root>(directory, how.links)),
      how_(std::make_shared<file_options>(std::move(how))) {}

void files::operator()(request& r, response& w) const {
    const file_path path = detail::parse_file_path(rest_of_path(r), how_->hidden);
    detail::check_is_read(r, w);
    std::string name = path.relative;
    if (path.is_folder) {
        if (how_->index.empty()) throw failure(status::not_found, "there is no such file");
        (name += name.empty() ? "" : "/") += how_->index;
    }
    std::error_code ec;
    opened_file f = root_->open(name, ec);
    refuse_unless_folder(ec);
    if (ec) {
        if (path.is_folder) throw failure(status::not_found, "there is no such file");
        redirect_to_folder(r, w);
        return;
    }
    if (!how_->cache_control.empty()) w.set("Cache-Control", how_->cache_control);
    if (how_->precompressed) prefer_compressed(r, w, *root_, name, f);
    send_opened(r, w, f, name);
}

void serve_file(request& r, response& w, const std::string& path) {
    detail::check_is_read(r, w);
    std::error_code ec;
    fs::file file(path, {}, ec);
    refuse_unless_folder(ec);
    opened_file f;
    if (!ec) f = detail::describe(std::move(file), ec);
    refuse_unless_folder(ec);
    if (ec) throw failure(status::not_found, "there is no such file");
    send_opened(r, w, f, path);
}

void serve_content(request& r, response& w, std::string_view content, const content_info& about) {
    const std::string_view tag = about.tag.starts_with("W/") ? about.tag.substr(2) : about.tag;
    if (!tag.empty() && (tag.size() < 2 || tag.front() != '"' || tag.back() != '"')) {
        throw std::invalid_argument("weft: the tag " + std::string(about.tag) +
                                    " of http::content_info must be in double quotes");
    }
    detail::validators known{.tag = about.tag};
    if (about.modified) known.modified = std::chrono::system_clock::to_time_t(*about.modified);
    detail::send_content(r, w, {.bytes = content, .size = content.size(), .type = about.type, .known = known});
}

}  // namespace weft::http
