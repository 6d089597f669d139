// pattern.h: the pattern of a handler: "GET /users/{id}", and which of two is more specific.
//
// A pattern stands for a set of requests. Of two patterns, one may be more specific: its set lies
// within the other's. If the sets only overlap, the two conflict, because nothing says which one a
// request in both is for. The rules are those of Go 1.22's net/http.ServeMux, without hosts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::http::detail {

struct pattern {
    struct segment {
        enum class kind {
            literal,  // exactly text
            one,      // {text}: any segment that is not empty
            rest,     // {text...}, or nothing but a slash at the end: what remains, maybe nothing
            end,      // {$}: a slash at the end, and nothing after it
        };

        kind what;
        std::string text;

        friend bool operator==(const segment&, const segment&) = default;
    };

    std::string text;    // as the user wrote it
    std::string method;  // empty: any
    std::vector<segment> segments;

    // Throws std::invalid_argument, which says what is wrong.
    [[nodiscard]] static pattern parse(std::string_view text);
};

enum class relation { equal, more_specific, more_general, disjoint, overlap };

// How the requests of a relate to those of b.
[[nodiscard]] relation compare(const pattern& a, const pattern& b);

}  // namespace weft::http::detail
