// router.h: finds the handler of a request, in a tree of the patterns' segments.
//
// A literal is tried before {name}, and that before {name...}; if the rest of the path does not fit
// there, the next one is tried. Because patterns never conflict (pattern.h), the first one found is
// the most specific one. The search takes O(segments) unless patterns make it go back.
//
// Segments of the target are compared after decoding, one by one: an encoded slash is part of a
// segment.
//
// Threads: add() by one, before any find(); find() by any.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/http/server.h>

#include "http/pattern.h"

namespace weft::http::detail {

class router {
public:
    struct route {
        pattern fits;
        handler call;
    };

    using params = std::vector<std::pair<std::string_view, std::string>>;

    // Throws std::invalid_argument.
    void add(std::string_view text, handler call);

    // path: not decoded, without the query; its percent signs are well-formed. Fills found with the
    // segments that names stand for. nullptr: no pattern fits.
    [[nodiscard]] const route* find(std::string_view method, std::string_view path, params& found) const;

    // The methods with which the path would be found, as the field Allow lists them: "GET, HEAD".
    // Empty if there is no such method.
    [[nodiscard]] std::string allowed(std::string_view path) const;

    // Whether the path with a slash at its end would be found.
    [[nodiscard]] bool is_without_slash(std::string_view method, std::string_view path) const;

private:
    struct node {
        std::map<std::string, std::unique_ptr<node>, std::less<>> literals;
        std::unique_ptr<node> one;
        std::unique_ptr<node> rest;
        std::unique_ptr<node> end;
        std::vector<const route*> routes;
    };

    struct search;

    node root_;
    std::vector<std::unique_ptr<route>> routes_;
};

}  // namespace weft::http::detail
