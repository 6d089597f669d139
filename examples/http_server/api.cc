#include "api.h"

#include <boost/beast/core/string.hpp>
#include <boost/json/error.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include <weft/debug.h>

namespace http_server {

namespace json = boost::json;

namespace {

answer answer_with_json(http::status status, const json::value& value) {
    answer a = answer_with_text(status, "application/json", json::serialize(value) + '\n');
    a.set(http::field::cache_control, "no-store");
    return a;
}

bool is_json(std::string_view type) {
    return boost::beast::iequals(type.substr(0, type.find_first_of("; ")), "application/json");
}

}  // namespace

answer answer_with_stats(const counters& counted) {
    const weft::stats_snapshot s = weft::stats();
    json::object answers;
    for (std::size_t digit = 1; digit < counted.answers.size(); ++digit) {
        answers[std::to_string(digit) + "xx"] = counted.answers[digit].load();
    }
    return answer_with_json(http::status::ok, {{"connections",
                                                {{"accepted", counted.connections.load()},
                                                 {"open", counted.open.load()},
                                                 {"turned_away", counted.turned_away.load()}}},
                                               {"requests", counted.requests.load()},
                                               {"answers", answers},
                                               {"body_bytes_sent", counted.body_bytes_sent.load()},
                                               {"log_lines_lost", counted.log_lines_lost.load()},
                                               {"scheduler",
                                                {{"processors", s.procs},
                                                 {"threads", s.threads},
                                                 {"green_threads", s.live},
                                                 {"spawned", s.spawned},
                                                 {"switches", s.switches},
                                                 {"parks", s.parks},
                                                 {"steals", s.steals}}}});
}

answer answer_with_echo(const request& r) {
    if (!is_json(value_of(r, http::field::content_type))) {
        throw refusal{http::status::unsupported_media_type, "post application/json"};
    }
    json::parser parser;  // nesting depth at most 32
    json::error_code ec;
    const std::size_t good = parser.write(r.body(), ec);
    if (ec) return answer_with_json(http::status::bad_request, {{"error", ec.message()}, {"after_bytes", good}});
    return answer_with_json(http::status::ok, {{"bytes", r.body().size()}, {"json", parser.release()}});
}

}  // namespace http_server
