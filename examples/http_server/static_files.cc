#include "static_files.h"

#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "byte_range.h"
#include "content_type.h"
#include "http_date.h"

namespace http_server {

namespace http = weft::http;

namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

// Whether a list of tags contains this one. Weak tags count as strong ones.
bool names_tag(std::string_view list, std::string_view tag) {
    if (trimmed(list) == "*") return true;
    while (!list.empty()) {
        const std::size_t comma = list.find(',');  // this server's tags contain no comma
        std::string_view one = trimmed(list.substr(0, comma));
        if (one.starts_with("W/")) one.remove_prefix(2);
        if (one == tag) return true;
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
    return false;
}

bool is_known_to_client(const http::request& r, const opened_file& f) {
    if (const std::string_view tags = r.header("If-None-Match"); !tags.empty()) {
        return names_tag(tags, f.tag);
    }
    const auto since = parse_http_date(r.header("If-Modified-Since"));
    return since && f.modified <= *since;
}

// Whether a part is useful to the client: the rest that it has is of the same content.
bool part_fits(const http::request& r, const opened_file& f) {
    const std::string_view condition = r.header("If-Range");
    return condition.empty() || condition == f.tag || parse_http_date(condition) == f.modified;
}

byte_range wanted_part(const http::request& r, const opened_file& f) {
    if (r.method() != "GET" || !part_fits(r, f)) return {};
    return parse_range(r.header("Range"), f.size);
}

opened_file open_or_refuse(const document_root& root, const std::string& path, std::error_code& ec) {
    opened_file f = root.open(path, ec);
    if (!ec || ec == std::errc::is_a_directory) return f;
    if (ec == std::errc::no_such_file_or_directory)
        throw http::failure(http::status::not_found, "there is no such file");
    if (ec == std::errc::permission_denied)
        throw http::failure(http::status::forbidden, "the server has no permission to read that file");
    throw http::failure(http::status::service_unavailable, "the file cannot be opened at present; try again later");
}

void redirect_to_folder(request_path path, http::response& w) {
    path.is_folder = true;
    w.redirect(target_of(path), http::status::moved_permanently);
    w.send("301 Moved Permanently: this is a directory\n");
}

void send(opened_file f, std::string_view type, const http::request& r, http::response& w) {
    w.set("Last-Modified", http_date(f.modified)).set("ETag", f.tag);
    if (is_known_to_client(r, f)) {
        w.status(http::status::not_modified);
        return;
    }
    byte_range part = wanted_part(r, f);
    const std::string size = std::to_string(f.size);
    if (part.what == byte_range::kind::unsatisfiable) {
        w.status(http::status::range_not_satisfiable).set("Content-Range", "bytes */" + size);
        w.send("416 Range Not Satisfiable: the range begins after the end of the file\n");
        return;
    }
    w.set("Accept-Ranges", "bytes").set("Content-Type", type);
    if (part.what == byte_range::kind::part) {
        w.status(http::status::partial_content);
        w.set("Content-Range",
              "bytes " + std::to_string(part.first) + '-' + std::to_string(part.first + part.size - 1) + '/' + size);
    } else {
        part = {byte_range::kind::whole, 0, f.size};
    }
    w.send_file(f.file, part.first, part.size);
}

}  // namespace

void answer_with_file(const document_root& root, const request_path& path, const http::request& r, http::response& w) {
    std::error_code ec;
    std::string name = path.relative;
    if (path.is_folder) name += name.empty() ? "index.html" : "/index.html";
    opened_file f = open_or_refuse(root, name, ec);
    if (!ec) {
        send(std::move(f), content_type_of(name), r, w);
    } else if (path.is_folder) {
        throw http::failure(http::status::not_found, "there is no such file");
    } else {
        redirect_to_folder(path, w);
    }
}

}  // namespace http_server
