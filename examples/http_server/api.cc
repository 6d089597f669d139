#include "api.h"

#include <strings.h>

#include <boost/json/error.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include <weft/debug.h>

namespace http_server {

namespace json = boost::json;
namespace http = weft::http;

namespace {

void send_json(http::response& w, const json::value& value) {
    w.set("Cache-Control", "no-store");
    w.send(json::serialize(value) + '\n', "application/json");
}

bool is_json(std::string_view type) {
    constexpr std::string_view wanted = "application/json";
    type = type.substr(0, type.find_first_of("; "));
    return type.size() == wanted.size() && ::strncasecmp(type.data(), wanted.data(), wanted.size()) == 0;
}

}  // namespace

void answer_with_stats(const http::server_stats& counted, uint64_t log_lines_lost, http::response& w) {
    const weft::stats_snapshot s = weft::stats();
    json::object answers;
    for (std::size_t digit = 1; digit < counted.responses.size(); ++digit) {
        answers[std::to_string(digit) + "xx"] = counted.responses[digit];
    }
    send_json(w, {{"connections",
                   {{"accepted", counted.connections}, {"open", counted.open}, {"turned_away", counted.turned_away}}},
                  {"requests", counted.requests},
                  {"answers", answers},
                  {"body_bytes_sent", counted.body_bytes_sent},
                  {"log_lines_lost", log_lines_lost},
                  {"scheduler",
                   {{"processors", s.procs},
                    {"threads", s.threads},
                    {"green_threads", s.live},
                    {"spawned", s.spawned},
                    {"switches", s.switches},
                    {"parks", s.parks},
                    {"steals", s.steals}}}});
}

void answer_with_echo(http::request& r, http::response& w) {
    const std::string body = r.body();
    if (!is_json(r.header("Content-Type"))) {
        throw http::failure(http::status::unsupported_media_type, "post application/json");
    }
    json::parser parser;  // nesting depth at most 32
    json::error_code ec;
    const std::size_t good = parser.write(body, ec);
    if (ec) {
        w.status(http::status::bad_request);
        send_json(w, {{"error", ec.message()}, {"after_bytes", good}});
        return;
    }
    send_json(w, {{"bytes", body.size()}, {"json", parser.release()}});
}

}  // namespace http_server
