// page.cc: see weft/observe/page.h.
//
// A runtime with one P of its own runs everything here. A green thread accepts connections, and
// each connection has one. One dump and one recording or profile is made at a time; other requests
// for them are refused. The state is read at most once in state_every_ns, however many clients ask
// for it. A request pins the observed runtime only while it reads it, not while it waits. The
// search for deadlocks ignores the page's own runtime, because a request wakes no green thread of
// the program.
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/mutex.h>
#include <weft/net/tcp.h>
#include <weft/observe/metrics.h>
#include <weft/observe/page.h>
#include <weft/observe/profile.h>
#include <weft/semaphore.h>
#include <weft/time.h>

#include "base/component_threads.h"
#include "debug/dump.h"
#include "debug/stats.h"
#include "observe/access.h"
#include "observe/exporters.h"
#include "observe/leak_report.h"
#include "observe/metrics_text.h"
#include "observe/page/access_rules.h"
#include "observe/page/http.h"
#include "observe/page/memory_file.h"
#include "observe/page/page_html.h"
#include "observe/profile_maker.h"
#include "observe/session.h"
#include "observe/state.h"
#include "observe/subject.h"
#include "os/os.h"
#include "sched/scheduler.h"

namespace weft::observe {

using namespace std::chrono_literals;
using detail::plain;
using detail::request;
using detail::response;
namespace http = detail::http;

namespace {

constexpr int64_t state_every_ns = 200'000'000;
constexpr unsigned refusals_max = 32;  // connections that are told that there are too many
constexpr std::size_t ring_bytes = std::size_t{6} * 1024 * 1024;
constexpr int recording_seconds = 5;
constexpr int profile_seconds = 30;  // as in Go
constexpr int seconds_max = 60;
constexpr std::string_view profiles_path = "/debug/pprof/";  // as in Go, for tools that append names
constexpr std::string_view profiles =
    "goroutine      the stacks of all green threads\n"
    "goroutineleak  of those that nothing can wake; as text with ?debug=1\n"
    "profile        CPU time, during ?seconds= (30)\n"
    "sched          how long green threads were runnable before they ran, during ?seconds= (30)\n"
    "block          how long green threads waited, during ?seconds= (30)";

struct target {
    std::string_view path;
    std::string_view query;

    explicit target(std::string_view whole) noexcept {
        const std::size_t at = whole.find('?');
        path = whole.substr(0, at);
        if (at != std::string_view::npos) query = whole.substr(at + 1);
    }
};

std::string_view field_of(const request& asked, http::field name) noexcept {
    const auto value = asked[name];
    return {value.data(), value.size()};
}

// The program's name, for the field Content-Disposition and for file systems.
std::string name_of_program() {
    std::string name = program_invocation_short_name;
    for (char& c : name) {
        const bool is_allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                                c == '.' || c == '_' || c == '-';
        if (!is_allowed) c = '_';
    }
    return name;
}

void check(const page_options& options) {
    if (options.connections_max < 1 || options.connections_max > 10'000) {
        throw std::invalid_argument("weft: page_options::connections_max is " +
                                    std::to_string(options.connections_max) + "; it must be 1 to 10000");
    }
    if (options.request_timeout < 10ms || options.request_timeout > 1h) {
        throw std::invalid_argument("weft: page_options::request_timeout is " +
                                    std::to_string(options.request_timeout.count()) +
                                    " ms; it must be 10 ms to an hour");
    }
    if (!options.token.empty()) detail::check_token(options.token);
}

net::endpoint where_to_listen(const page_options& options) {
    const bool is_v6 = options.address.find(':') != std::string::npos;
    const std::string host = is_v6 ? "[" + options.address + "]" : options.address;
    const std::optional<net::endpoint> at = net::endpoint::parse(host + ":" + std::to_string(options.port));
    if (!at || options.address.empty()) {
        throw std::invalid_argument("weft: page_options::address is \"" + options.address +
                                    "\"; it must be an IP address, such as 127.0.0.1 or ::1");
    }
    if (!options.allow_remote && !detail::is_loopback(*at)) {
        throw std::invalid_argument("weft: page_options::address is " + options.address +
                                    ", which other machines may reach; set allow_remote, too, if they may");
    }
    return *at;
}

response page_response() {
    response answer;
    const std::string nonce = detail::random_token();
    answer.type = "text/html; charset=utf-8";
    answer.body = detail::page_html(nonce);
    answer.fields.emplace_back(
        "Content-Security-Policy",
        "default-src 'none'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; script-src 'nonce-" +
            nonce + "'; style-src 'nonce-" + nonce + "'");
    return answer;
}

response attachment(const std::string& name) {
    response answer;
    answer.type = "application/octet-stream";
    answer.fields.emplace_back("Content-Disposition", "attachment; filename=\"" + name + "\"");
    return answer;
}

response not_allowed() { return plain(http::status::forbidden, "page_options::allow_recording is not set"); }

response bad_duration() { return plain(http::status::bad_request, "seconds is a number from 1 to 60"); }

// The seconds that a query asks for. None: they are no number in the range.
std::optional<std::chrono::seconds> duration_in(std::string_view query, int usual) {
    const std::string text(detail::value_in_query(query, "seconds"));
    if (text.empty()) return std::chrono::seconds(usual);
    char* end = nullptr;
    const long seconds = std::strtol(text.c_str(), &end, 10);
    if (*end != '\0' || text.size() > 2 || seconds < 1 || seconds > seconds_max) return std::nullopt;
    return std::chrono::seconds(seconds);
}

response gone() {
    return plain(
        http::status::gone,
        "the runtime has stopped; if it was started again, make a new page, because this one does not show it");
}

}  // namespace

struct page::state {
    state(detail::subject of, const page_options& wanted)
        : options(wanted), subject(std::move(of)), at(where_to_listen(wanted)), slots(wanted.connections_max) {
        check(options);
        if (options.token.empty()) options.token = detail::random_token();
        own.run([&] { listener = net::tcp_listener(at); });
        at = listener.local_endpoint();
        own.go({.name = "accept"}, [this] { accept(); });
        own_scheduler = detail::access::of(own, "weft: a page has");
        weft::detail::add_component_runtime(own_scheduler);
    }

    // The green threads use this object, so it waits for all of them. Each ends soon: all its waits
    // are cancelled.
    ~state() {
        // A green thread of the program waits here for green threads of the page.
        weft::detail::remove_component_runtime(own_scheduler);
        // The child of a fork may hold the socket. Then only shutdown frees the port. In that child
        // nothing runs, and the socket is the parent's.
        if (own.running()) ::shutdown(listener.native_handle(), SHUT_RDWR);
        listener.close();
        ending = true;
        own.shutdown(std::chrono::steady_clock::time_point::max());
    }

    void accept();
    void serve_or_refuse(detail::connection& client, bool has_slot);
    void serve(detail::connection& client);

    [[nodiscard]] bool may_ask(const request& asked, const target& to, const net::endpoint& peer) const;
    [[nodiscard]] bool has_token(const request& asked, const target& to) const;
    [[nodiscard]] response answer_or_error(const request& asked, const net::endpoint& peer);
    [[nodiscard]] response answer(const request& asked, const net::endpoint& peer);
    [[nodiscard]] response metrics_response() const;
    [[nodiscard]] response state_response();
    [[nodiscard]] response stacks_response(const target& to);
    [[nodiscard]] response leaks_response(const target& to);
    [[nodiscard]] response recording_response(const request& asked, const target& to);
    [[nodiscard]] response profile_response(const request& asked, const target& to);
    [[nodiscard]] std::optional<profile> make_profile(std::string_view kind, std::chrono::seconds duration) const;
    [[nodiscard]] std::shared_ptr<const detail::recorded> record(std::chrono::seconds duration) const;

    page_options options;
    detail::subject subject;
    net::endpoint at;
    weft::mutex reads_state;
    std::string state_text;  // guarded by reads_state, as the next
    int64_t state_at_ns = 0;
    weft::mutex dumps;
    weft::mutex records;
    weft::mutex leak_searches;
    std::atomic<bool> ending = false;
    counting_semaphore<> slots;
    counting_semaphore<> refusals{refusals_max};
    net::tcp_listener listener;
    runtime own{{.procs = 1, .name = "weft-page"}};  // the last: it ends before what its green threads use
    const void* own_scheduler = nullptr;
};

void page::state::accept() {
    for (;;) {
        std::error_code ec;
        net::tcp_stream accepted = listener.accept(ec);
        if (ec == errc::closed || ec == errc::cancelled) return;
        if (ec) {
            weft::sleep_for(100ms);  // such as no memory for a socket
            continue;
        }
        const bool has_slot = slots.try_acquire();
        if (!has_slot && !refusals.try_acquire()) continue;
        counting_semaphore<>& taken = has_slot ? slots : refusals;
        try {
            auto client = std::make_unique<detail::connection>(std::move(accepted), options.request_timeout);
            weft::go({.name = "client"}, [this, has_slot, &taken, client = std::move(client)] {
                serve_or_refuse(*client, has_slot);
                client->stream().close();
                taken.release();
            });
        } catch (const std::exception&) {  // no memory
            taken.release();
            weft::sleep_for(100ms);
        }
    }
}

// What fails is only this connection.
void page::state::serve_or_refuse(detail::connection& client, bool has_slot) {
    try {
        if (has_slot) {
            serve(client);
        } else {
            client.refuse(plain(http::status::service_unavailable, "too many connections"));
        }
    } catch (const std::exception&) {
        return;  // such as a client that has gone already, so that it has no address
    }
}

void page::state::serve(detail::connection& client) {
    const net::endpoint peer = client.stream().remote_endpoint();
    // A read or write that need not wait does not see that it is cancelled.
    while (!ending) {
        const std::optional<request> asked = client.read();
        if (!asked || !client.write(*asked, answer_or_error(*asked, peer))) return;
    }
}

response page::state::answer_or_error(const request& asked, const net::endpoint& peer) {
    try {
        return answer(asked, peer);
    } catch (const std::exception& e) {
        return plain(http::status::internal_server_error, e.what());
    }
}

bool page::state::has_token(const request& asked, const target& to) const {
    return detail::are_equal(detail::value_in_query(to.query, "token"), options.token) ||
           detail::are_equal(detail::bearer_token(field_of(asked, http::field::authorization)), options.token);
}

bool page::state::may_ask(const request& asked, const target& to, const net::endpoint& peer) const {
    if (to.path == "/" || has_token(asked, to)) return true;  // the page itself says nothing of the program
    return to.path == "/metrics" && detail::is_loopback(peer) &&
           detail::names_no_other_host(field_of(asked, http::field::host));
}

response page::state::answer(const request& asked, const net::endpoint& peer) {
    const std::string_view whole(asked.target().data(), asked.target().size());
    if (whole.size() > detail::target_max) return plain(http::status::uri_too_long, "the URL is too long");
    if (asked.method() != http::verb::get && asked.method() != http::verb::head) {
        response refused = plain(http::status::method_not_allowed, "only GET and HEAD are answered");
        refused.fields.emplace_back("Allow", "GET, HEAD");
        return refused;
    }
    const target to(whole);
    if (!may_ask(asked, to, peer)) {
        response refused =
            plain(http::status::unauthorized, "the token is missing or wrong: open the URL that page::url() returns");
        refused.fields.emplace_back("WWW-Authenticate", "Bearer realm=\"weft\"");
        return refused;
    }
    if (to.path == "/") return page_response();
    if (to.path == "/metrics") return metrics_response();
    if (to.path == "/api/state") return state_response();
    if (to.path == "/stacks") return stacks_response(to);
    if (to.path == "/recording") return recording_response(asked, to);
    if (to.path == "/debug/pprof/goroutineleak") return leaks_response(to);
    if (to.path.starts_with(profiles_path)) return profile_response(asked, to);
    return plain(http::status::not_found, "there are /, /metrics, /api/state, /stacks, /recording and /debug/pprof/");
}

response page::state::metrics_response() const {
    const detail::pinned_subject s = subject.use();
    if (!s) return gone();
    const stats_snapshot stats = weft::detail::stats_of(*s);
    std::vector<proc_snapshot> procs(stats.procs);
    procs.resize(std::min(procs.size(), weft::detail::procs_of(*s, procs.data(), procs.size())));
    response answer;
    answer.type = metrics_type;
    answer.body = detail::metrics_text(stats, weft::detail::latencies_of(*s), procs);
    return answer;
}

response page::state::state_response() {
    response answer;
    answer.type = "application/json";
    const std::lock_guard hold(reads_state);
    const detail::pinned_subject s = subject.use();  // not while it waits for reads_state
    if (!s) return gone();
    const int64_t now_ns = weft::detail::os::monotonic_ns();
    if (state_text.empty() || now_ns - state_at_ns >= state_every_ns) {
        state_text = detail::to_json(detail::read_state(*s), program_invocation_short_name, options.allow_recording);
        state_at_ns = now_ns;
    }
    answer.body = state_text;
    return answer;
}

response page::state::stacks_response(const target& to) {
    dump_options how;
    response answer;
    const std::string_view form = detail::value_in_query(to.query, "form");
    if (form == "json") {
        how.form = dump_form::json;
        answer.type = "application/json";
    } else if (form == "folded") {
        how.form = dump_form::folded;
    } else if (!form.empty() && form != "text") {
        return plain(http::status::bad_request, "form is text, json or folded");
    }
    const std::unique_lock hold(dumps, std::try_to_lock);
    if (!hold.owns_lock()) return plain(http::status::service_unavailable, "another dump is being made");
    answer.file.emplace();
    const detail::pinned_subject s = subject.use();
    if (!s) return gone();
    weft::detail::dump_scheduler(*s, answer.file->fd(), how);
    return answer;
}

// As Go's: a profile, or text with a debug other than 0.
response page::state::leaks_response(const target& to) {
    if (!options.allow_recording) return not_allowed();
    const std::string_view debug = detail::value_in_query(to.query, "debug");
    const std::unique_lock hold(leak_searches, std::try_to_lock);
    if (!hold.owns_lock()) return plain(http::status::service_unavailable, "another search for leaks is being made");
    const leak_report report = detail::search_for_leaks_of(subject, {});
    response answer;
    if (debug.empty() || debug == "0") {
        answer.type = "application/octet-stream";
        answer.body = report.to_profile().bytes();
    } else {
        answer.body = report.text();
    }
    return answer;
}

std::shared_ptr<const detail::recorded> page::state::record(std::chrono::seconds duration) const {
    const detail::session events(subject.source(), {.bytes_per_thread = ring_bytes});
    weft::sleep_for(duration);
    return events.snapshot(duration);
}

response page::state::recording_response(const request& asked, const target& to) {
    if (!options.allow_recording) return not_allowed();
    const std::optional<std::chrono::seconds> duration = duration_in(to.query, recording_seconds);
    if (!duration) return bad_duration();
    response answer = attachment(name_of_program() + ".pftrace");
    if (asked.method() == http::verb::head) return answer;
    const std::unique_lock hold(records, std::try_to_lock);
    if (!hold.owns_lock()) return plain(http::status::service_unavailable, "another recording is being made");
    answer.file.emplace();
    detail::write_perfetto(*record(*duration), answer.file->path());
    return answer;
}

response page::state::profile_response(const request& asked, const target& to) {
    const std::string_view kind = to.path.substr(profiles_path.size());
    if (kind.empty()) return plain(http::status::ok, profiles);
    const bool takes_time = kind == "profile" || kind == "sched" || kind == "block";
    if (!takes_time && kind != "goroutine") return plain(http::status::not_found, profiles);
    if (takes_time && !options.allow_recording) return not_allowed();
    const std::optional<std::chrono::seconds> duration = duration_in(to.query, profile_seconds);
    if (!duration) return bad_duration();
    response answer = attachment(name_of_program() + "." + std::string(kind) + ".pb");
    if (asked.method() == http::verb::head) return answer;
    const std::unique_lock hold(takes_time ? records : dumps, std::try_to_lock);
    if (!hold.owns_lock()) return plain(http::status::service_unavailable, "another one is being made");
    const std::optional<profile> made = make_profile(kind, *duration);
    if (!made) return gone();
    answer.body = made->bytes();
    return answer;
}

// None: the runtime is stopped.
std::optional<profile> page::state::make_profile(std::string_view kind, std::chrono::seconds duration) const {
    if (kind == "goroutine") return detail::goroutine_profile_of(subject);
    if (kind == "profile") return cpu_profile(duration);
    const recording r = detail::access::recording_of(record(duration));
    return kind == "sched" ? scheduling_profile(r) : blocking_profile(r);
}

page::page(const page_options& options) : state_(std::make_unique<state>(detail::subject(), options)) {}

page::page(const runtime& of, const page_options& options)
    : state_(std::make_unique<state>(detail::subject(of, "weft: a page was made for"), options)) {}

page::~page() = default;

std::string page::url() const { return "http://" + state_->at.to_string() + "/?token=" + state_->options.token; }

uint16_t page::port() const noexcept { return state_->at.port(); }

}  // namespace weft::observe
