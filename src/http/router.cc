// router.cc: see router.h.
#include "http/router.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <stdexcept>

#include "http/text.h"

namespace weft::http::detail {

using kind = pattern::segment::kind;

// One walk through the tree: for a route, or for all methods of a path.
struct router::search {
    std::string_view method;
    std::set<std::string>* methods;   // not nullptr: collects instead of finding
    std::vector<std::string> passed;  // what {name} and {name...} stand for, so far

    // path: what is left, from the slash on; empty at the end of the path.
    const route* walk(const node& at, std::string_view path);

private:
    const route* choose(const node& at);
    const route* walk_one(const node& at, std::string_view segment, std::string_view left);
    const route* walk_rest(const node& at, std::string_view path);
};

const router::route* router::search::choose(const node& at) {
    const route* for_get = nullptr;
    const route* for_any = nullptr;
    for (const route* r : at.routes) {
        if (methods != nullptr) {
            methods->insert(r->fits.method);
        } else if (r->fits.method == method) {
            return r;
        } else if (r->fits.method.empty()) {
            for_any = r;
        } else if (r->fits.method == "GET" && method == "HEAD") {
            for_get = r;
        }
    }
    return for_get != nullptr ? for_get : for_any;
}

const router::route* router::search::walk_one(const node& at, std::string_view segment, std::string_view left) {
    std::optional<std::string> decoded;
    if (segment.find('%') != std::string_view::npos) decoded = percent_decoded(segment, false);
    const std::string_view text = decoded ? std::string_view(*decoded) : segment;
    if (const auto next = at.literals.find(text); next != at.literals.end()) {
        if (const route* r = walk(*next->second, left)) return r;
    }
    if (at.one == nullptr || text.empty()) return nullptr;
    passed.emplace_back(text);
    if (const route* r = walk(*at.one, left)) return r;
    passed.pop_back();
    return nullptr;
}

const router::route* router::search::walk_rest(const node& at, std::string_view path) {
    if (at.rest == nullptr) return nullptr;
    passed.push_back(percent_decoded(path.substr(1), false).value_or(std::string()));
    if (const route* r = choose(*at.rest)) return r;
    passed.pop_back();
    return nullptr;
}

const router::route* router::search::walk(const node& at, std::string_view path) {
    if (path.empty()) return choose(at);
    if (path == "/" && at.end != nullptr) {
        if (const route* r = choose(*at.end)) return r;
    }
    const std::size_t slash = std::min(path.find('/', 1), path.size());
    if (const route* r = walk_one(at, path.substr(1, slash - 1), path.substr(slash))) return r;
    return walk_rest(at, path);
}

void router::add(std::string_view text, handler call) {
    auto added = std::make_unique<route>(route{pattern::parse(text), std::move(call)});
    for (const auto& r : routes_) {
        const relation how = compare(added->fits, r->fits);
        if (how != relation::equal && how != relation::overlap) continue;
        throw std::invalid_argument(
            "weft: the pattern \"" + added->fits.text + "\" conflicts with \"" + r->fits.text + "\": " +
            (how == relation::equal ? "both are for the same requests"
                                    : "some requests fit both, and neither is more specific; make one of them so"));
    }
    node* at = &root_;
    for (const pattern::segment& s : added->fits.segments) {
        std::unique_ptr<node>& next = s.what == kind::literal ? at->literals[s.text]
                                      : s.what == kind::one   ? at->one
                                      : s.what == kind::rest  ? at->rest
                                                              : at->end;
        if (next == nullptr) next = std::make_unique<node>();
        at = next.get();
    }
    at->routes.push_back(added.get());
    routes_.push_back(std::move(added));
}

const router::route* router::find(std::string_view method, std::string_view path, params& found) const {
    search s{method, nullptr, {}};
    const route* r = s.walk(root_, path);
    found.clear();
    if (r == nullptr) return nullptr;
    auto value = s.passed.begin();
    for (const pattern::segment& segment : r->fits.segments) {
        if (segment.what != kind::one && segment.what != kind::rest) continue;
        found.emplace_back(segment.text, std::move(*value++));
    }
    return r;
}

std::string router::allowed(std::string_view path) const {
    std::set<std::string> methods;
    search s{{}, &methods, {}};
    static_cast<void>(s.walk(root_, path));
    if (methods.contains("GET")) methods.insert("HEAD");
    std::string list;
    for (const std::string& m : methods) {
        if (m.empty()) continue;
        if (!list.empty()) list += ", ";
        list += m;
    }
    return list;
}

bool router::is_without_slash(std::string_view method, std::string_view path) const {
    search s{method, nullptr, {}};
    return s.walk(root_, std::string(path) + '/') != nullptr;
}

}  // namespace weft::http::detail
