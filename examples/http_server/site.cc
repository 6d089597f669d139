#include "site.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "api.h"

namespace http_server {

namespace http = weft::http;

namespace {

// Answers 405 unless the method is one of these.
bool has_method(const http::request& r, http::response& w, std::initializer_list<std::string_view> allowed) {
    if (std::find(allowed.begin(), allowed.end(), r.method()) != allowed.end()) return true;
    std::string list;
    for (const std::string_view one : allowed) (list += list.empty() ? "" : ", ") += one;
    w.status(http::status::method_not_allowed).set("Allow", list);
    w.send("405 Method Not Allowed: the allowed methods are " + list + "\n");
    return false;
}

// Reads a body that nothing here wants, so that a bad one is refused whatever it was sent to.
void skip_body(http::request& r) {
    std::array<char, 4096> unwanted;
    while (r.read_some(unwanted) != 0) continue;
}

}  // namespace

void add_site(http::server& to, http::files root, const std::atomic<uint64_t>& log_lines_lost) {
    to.use([](http::request& r, http::response& w, const http::handler& next) {
        w.set("Server", "weft").set("X-Content-Type-Options", "nosniff");
        if (r.method() != "POST" || r.path() != "/api/echo") skip_body(r);
        next(r, w);
    });
    to.handle("/api/stats", [&](http::request& r, http::response& w) {
        if (has_method(r, w, {"GET", "HEAD"})) answer_with_stats(to.stats(), log_lines_lost, w);
    });
    to.handle("/api/echo", [](http::request& r, http::response& w) {
        if (has_method(r, w, {"POST"})) answer_with_echo(r, w);
    });
    to.handle("/{path...}", std::move(root));
}

}  // namespace http_server
