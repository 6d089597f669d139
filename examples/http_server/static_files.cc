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

bool is_known_to_client(const request& r, const opened_file& f) {
    if (const std::string_view tags = value_of(r, http::field::if_none_match); !tags.empty()) {
        return names_tag(tags, f.tag);
    }
    const auto since = parse_http_date(value_of(r, http::field::if_modified_since));
    return since && f.modified <= *since;
}

// Whether a part is useful to the client: the rest that it has is of the same content.
bool part_fits(const request& r, const opened_file& f) {
    const std::string_view condition = value_of(r, http::field::if_range);
    return condition.empty() || condition == f.tag || parse_http_date(condition) == f.modified;
}

byte_range wanted_part(const request& r, const opened_file& f) {
    if (r.method() != http::verb::get || !part_fits(r, f)) return {};
    return parse_range(value_of(r, http::field::range), f.size);
}

opened_file open_or_refuse(const document_root& root, const std::string& path, std::error_code& ec) {
    opened_file f = root.open(path, ec);
    if (!ec || ec == std::errc::is_a_directory) return f;
    if (ec == std::errc::no_such_file_or_directory) throw refusal{http::status::not_found, "there is no such file"};
    if (ec == std::errc::permission_denied)
        throw refusal{http::status::forbidden, "the server has no permission to read that file"};
    throw refusal{http::status::service_unavailable, "the file cannot be opened at present; try again later"};
}

answer redirection_to_folder(request_path path) {
    path.is_folder = true;
    answer a = answer_with_reason(http::status::moved_permanently, "this is a directory");
    a.set(http::field::location, target_of(path));
    return a;
}

answer answer_with(opened_file f, const request& r, std::string_view type) {
    answer a;
    a.message.result(http::status::ok);
    a.set(http::field::last_modified, http_date(f.modified));
    a.set(http::field::etag, f.tag);
    if (is_known_to_client(r, f)) {
        a.message.result(http::status::not_modified);
        return a;
    }
    const byte_range part = wanted_part(r, f);
    if (part.what == byte_range::kind::unsatisfiable) {
        answer none =
            answer_with_reason(http::status::range_not_satisfiable, "the range begins after the end of the file");
        none.set(http::field::content_range, "bytes */" + std::to_string(f.size));
        return none;
    }
    a.set(http::field::accept_ranges, "bytes");
    a.set(http::field::content_type, type);
    a.size = f.size;
    if (part.what == byte_range::kind::part) {
        a.message.result(http::status::partial_content);
        a.offset = part.first;
        a.size = part.size;
        a.set(http::field::content_range, "bytes " + std::to_string(part.first) + '-' +
                                              std::to_string(part.first + part.size - 1) + '/' +
                                              std::to_string(f.size));
    }
    a.file = std::move(f.file);
    return a;
}

}  // namespace

answer answer_with_file(const document_root& root, const request& r, const request_path& path) {
    std::error_code ec;
    std::string name = path.relative;
    if (path.is_folder) name += name.empty() ? "index.html" : "/index.html";
    opened_file f = open_or_refuse(root, name, ec);
    if (!ec) return answer_with(std::move(f), r, content_type_of(name));
    if (path.is_folder) throw refusal{http::status::not_found, "there is no such file"};
    return redirection_to_folder(path);
}

}  // namespace http_server
