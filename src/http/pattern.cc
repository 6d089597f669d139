// pattern.cc: see pattern.h.
#include "http/pattern.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>

#include "http/text.h"

namespace weft::http::detail {

namespace {

using segment = pattern::segment;
using kind = segment::kind;

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw std::invalid_argument("weft: \"" + std::string(text) + "\" is no pattern of a handler: " + why);
}

bool is_identifier(std::string_view name) noexcept {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !name.empty() && is_letter(name.front()) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

segment parse_wildcard(std::string_view text, std::string_view part, bool is_last) {
    if (part.back() != '}' || part.find('{', 1) != std::string_view::npos)
        refuse(text, "{name} must be a whole segment of the path");
    std::string_view name = part.substr(1, part.size() - 2);
    if (name == "$") {
        if (!is_last) refuse(text, "{$} must be at the end");
        return {kind::end, {}};
    }
    const bool is_rest = name.ends_with("...");
    if (is_rest) {
        if (!is_last) refuse(text, "{name...} must be at the end");
        name.remove_suffix(3);
    }
    if (!is_identifier(name)) refuse(text, "a name in braces consists of letters, digits and _");
    return {is_rest ? kind::rest : kind::one, std::string(name)};
}

segment parse_segment(std::string_view text, std::string_view part, bool is_last) {
    if (part.empty()) {
        if (is_last) return {kind::rest, {}};
        refuse(text, "a path has no empty segment");
    }
    if (part.front() == '{') return parse_wildcard(text, part, is_last);
    if (part.find_first_of("{}") != std::string_view::npos) refuse(text, "{name} must be a whole segment of the path");
    std::optional<std::string> plain = percent_decoded(part, false);
    if (!plain) refuse(text, "a percent sign must be followed by two hexadecimal digits");
    if (*plain == "." || *plain == "..") refuse(text, "no request has a segment . or ..");
    return {kind::literal, std::move(*plain)};
}

void check_names(const pattern& p) {
    for (std::size_t i = 0; i < p.segments.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            const segment& a = p.segments[i];
            const segment& b = p.segments[k];
            if (a.what != kind::literal && b.what != kind::literal && !a.text.empty() && a.text == b.text)
                refuse(p.text, "it has {" + a.text + "} twice");
        }
    }
}

// Composes the relations of the parts of two patterns to that of the whole.
relation both(relation a, relation b) noexcept {
    if (a == relation::disjoint || b == relation::disjoint) return relation::disjoint;
    if (a == relation::equal) return b;
    if (b == relation::equal || a == b) return a;
    return relation::overlap;
}

relation compare_methods(const std::string& a, const std::string& b) {
    if (a == b) return relation::equal;
    if (a.empty()) return relation::more_general;
    if (b.empty()) return relation::more_specific;
    if (a == "HEAD" && b == "GET") return relation::more_specific;  // GET is also for HEAD
    if (a == "GET" && b == "HEAD") return relation::more_general;
    return relation::disjoint;
}

relation compare_segments(const segment& a, const segment& b) {
    if (a.what == b.what) {
        return a.what != kind::literal || a.text == b.text ? relation::equal : relation::disjoint;
    }
    if (a.what == kind::end || b.what == kind::end) return relation::disjoint;  // neither is a rest
    return a.what == kind::literal ? relation::more_specific : relation::more_general;
}

relation compare_paths(const pattern& a, const pattern& b) {
    relation so_far = relation::equal;
    for (std::size_t i = 0; so_far != relation::disjoint; ++i) {
        const bool a_ends = i == a.segments.size();
        const bool b_ends = i == b.segments.size();
        if (a_ends && b_ends) return so_far;
        // A rest stands for "/x", "/x/y", and "/", but not for the path without the slash.
        if (a_ends || b_ends) return relation::disjoint;
        const bool a_rest = a.segments[i].what == kind::rest;
        const bool b_rest = b.segments[i].what == kind::rest;
        if (a_rest || b_rest) {
            if (a_rest && b_rest) return so_far;
            return both(so_far, a_rest ? relation::more_general : relation::more_specific);
        }
        so_far = both(so_far, compare_segments(a.segments[i], b.segments[i]));
    }
    return so_far;
}

}  // namespace

pattern pattern::parse(std::string_view text) {
    pattern p{std::string(text), {}, {}};
    std::string_view path = text;
    if (const std::size_t space = text.find_first_of(" \t"); space != std::string_view::npos) {
        p.method = text.substr(0, space);
        if (!is_token(p.method)) refuse(text, "what is before the path must be a method");
        path = trimmed(text.substr(space));
    }
    if (!path.starts_with('/')) refuse(text, "write it as \"GET /path\" or \"/path\"");
    if (path.find_first_of("?# \t") != std::string_view::npos)
        refuse(text, "a path has no space, no query, and no fragment");
    for (std::size_t begin = 1; begin <= path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        p.segments.push_back(parse_segment(text, path.substr(begin, end - begin), end == path.size()));
        begin = end + 1;
    }
    check_names(p);
    return p;
}

relation compare(const pattern& a, const pattern& b) {
    return both(compare_methods(a.method, b.method), compare_paths(a, b));
}

}  // namespace weft::http::detail
