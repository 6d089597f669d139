// conditions.cc: see conditions.h.
#include "http/conditions.h"

#include <cstddef>

#include "http/date.h"
#include "http/text.h"

namespace weft::http::detail {

namespace {

constexpr std::string_view weak = "W/";

bool is_weak(std::string_view tag) noexcept { return tag.starts_with(weak); }

std::string_view opaque_part(std::string_view tag) noexcept { return is_weak(tag) ? tag.substr(weak.size()) : tag; }

// Takes the next tag from a list; empty at its end, or where the list is malformed. A tag may
// contain commas.
std::string_view take_tag(std::string_view& list) noexcept {
    while (!list.empty() && (list.front() == ' ' || list.front() == '\t' || list.front() == ',')) list.remove_prefix(1);
    const std::size_t open = is_weak(list) ? weak.size() : 0;
    if (list.size() <= open || list[open] != '"') return {};
    const std::size_t close = list.find('"', open + 1);
    if (close == std::string_view::npos) return {};
    const std::string_view tag = list.substr(0, close + 1);
    list.remove_prefix(tag.size());
    return tag;
}

// Whether one of the fields of that name, which are lists of tags, has this one. "*" is any tag.
// is_strong: weak tags never match (RFC 9110, 8.8.3.2).
bool has_tag(const headers& all, std::string_view name, std::string_view tag, bool is_strong) {
    for (const auto& [key, value] : all) {
        if (!same_text(key, name)) continue;
        if (trimmed(value) == "*") return true;
        std::string_view list = value;
        for (std::string_view one = take_tag(list); !one.empty(); one = take_tag(list)) {
            if (is_strong ? one == tag && !is_weak(one) : opaque_part(one) == opaque_part(tag)) return true;
        }
    }
    return false;
}

bool is_read(const request& r) noexcept { return r.method() == "GET" || r.method() == "HEAD"; }

}  // namespace

verdict check_conditions(const request& r, const validators& v) {
    const headers& all = r.headers();
    if (all.has("If-Match")) {
        if (!has_tag(all, "If-Match", v.tag, true)) return verdict::failed;
    } else if (v.modified && all.has("If-Unmodified-Since")) {
        const auto since = parse_http_date(r.header("If-Unmodified-Since"));
        if (since && *v.modified > *since) return verdict::failed;
    }
    if (all.has("If-None-Match")) {
        if (has_tag(all, "If-None-Match", v.tag, false)) return is_read(r) ? verdict::not_modified : verdict::failed;
    } else if (v.modified && is_read(r) && all.has("If-Modified-Since")) {
        const auto since = parse_http_date(r.header("If-Modified-Since"));
        if (since && *v.modified <= *since) return verdict::not_modified;
    }
    return verdict::send;
}

bool range_fits(const request& r, const validators& v) {
    if (!r.headers().has("If-Range")) return true;
    const std::string_view condition = trimmed(r.header("If-Range"));
    if (condition.starts_with('"') || is_weak(condition)) return condition == v.tag && !is_weak(condition);
    return v.modified && parse_http_date(condition) == v.modified;
}

}  // namespace weft::http::detail
