// consumer.cc: see weft/redis/consumer.h.
//
// A round of fetch() asks, in this order, and stops at the first that has entries:
//
//     own        XREADGROUP … STREAMS stream FROM     own pending entries, once per connection
//     abandoned  XAUTOCLAIM … idle_time FROM          those of consumers that have gone, at most
//                                                     every idle_time / 2
//     new        XREADGROUP … BLOCK … STREAMS stream >
//
// An entry that this object has returned, and that is not acknowledged, is among the own pending
// ones too. held_ keeps it from being returned twice. If it is claimed, its time is up: it is
// returned again.
#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <weft/backoff.h>
#include <weft/error.h>
#include <weft/redis/consumer.h>

#include "redis/connection.h"

namespace weft::redis {

namespace {

using std::chrono::steady_clock;

consumer_options checked_consumer(consumer_options how) {
    const auto need = [](bool is_good, const char* what) {
        if (!is_good) throw std::invalid_argument(std::string("weft: redis::consumer_options::") + what);
    };
    need(!how.stream.empty(), "stream is empty: name the stream");
    need(!how.group.empty(), "group is empty: name the consumer group");
    need(!how.name.empty(), "name is empty: name this consumer, differently from all others of its group");
    need(how.batch > 0, "batch must be more than 0");
    need(how.idle_time.count() > 0, "idle_time must be more than 0");
    need(how.block_time.count() > 0, "block_time must be more than 0");
    need(how.down_time_max.count() >= 0, "down_time_max must not be negative");
    return how;
}

bool is_code(const server_error& e, std::string_view code) noexcept { return e.code() == code; }

}  // namespace

std::string_view entry::field(std::string_view name) const noexcept {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.first == name; });
    return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

consumer::consumer(const client& of, consumer_options how) : at_(of.options()), how_(checked_consumer(std::move(how))) {
    if (how_.block_time >= at_.reply_time)
        throw std::invalid_argument("weft: redis::consumer_options::block_time must be below reply_time of the client");
}

consumer::consumer(consumer&&) noexcept = default;

consumer::~consumer() = default;

// Connects if necessary. Throws server_error, and as connection::call().
reply consumer::call(const command& c) {
    if (!connection_) {
        connection_ = std::make_unique<detail::connection>(at_);
        make_group();
    }
    reply r = connection_->call(c, at_.reply_time);
    r.throw_if_error();
    return r;
}

// Calls f until it succeeds, with a new connection after each failure of one.
template <typename F>
auto consumer::persistently(F f) {
    weft::backoff pauses;
    const detail::time_point give_up = detail::time_after(how_.down_time_max);
    for (;;) {
        try {
            return f();
        } catch (const std::system_error& e) {
            connection_.reset();
            own_from_ = "0";  // a reply may be lost
            const bool may_help = e.code().category() != error_category() || e.code() != errc::login_refused;
            if (!may_help || steady_clock::now() >= give_up) throw;
        } catch (const server_error& e) {
            own_from_ = "0";  // a batch may have been taken in part
            // A server without persistence has restarted, or loads its data.
            if (!is_code(e, "NOGROUP") && !detail::is_transient(e.code() + ' ')) throw;
            if (steady_clock::now() >= give_up) throw;
            connection_.reset();
        } catch (...) {
            connection_.reset();  // interrupted: a reply is outstanding
            own_from_ = "0";
            throw;
        }
        pauses.wait();
    }
}

entry consumer::next() {
    while (ready_.empty()) persistently([this] { fetch(); });
    entry e = std::move(ready_.front());
    ready_.pop_front();
    return e;
}

std::size_t consumer::ack_all(const std::vector<std::string>& ids) {
    if (ids.empty()) return 0;
    const std::size_t count =
        persistently([&] { return call(command("XACK", how_.stream, how_.group).add_all(ids)).as<std::size_t>(); });
    for (const std::string& id : ids) held_.erase(id);
    return count;
}

void consumer::fetch() {
    if (!ready_.empty()) return;  // an attempt failed after it had fetched some
    if (!own_from_.empty() && fetch_own() != 0) return;
    if (steady_clock::now() >= claim_at_ && fetch_abandoned() != 0) return;
    fetch_new();
}

void consumer::make_group() {
    const reply r =
        connection_->call({"XGROUP", "CREATE", how_.stream, how_.group, how_.start, "MKSTREAM"}, at_.reply_time);
    if (r.is_error()) {
        if (!r.text().starts_with("BUSYGROUP")) r.throw_if_error();  // BUSYGROUP: it exists
    } else {
        held_.clear();  // a new group knows nothing of earlier deliveries
    }
}

std::size_t consumer::fetch_own() {
    std::size_t taken = 0;
    while (taken == 0 && !own_from_.empty()) {
        const reply r = call(
            {"XREADGROUP", "GROUP", how_.group, how_.name, "COUNT", how_.batch, "STREAMS", how_.stream, own_from_});
        const reply& entries = r[0][1];
        own_from_ = entries.size() == 0 ? std::string() : entries[entries.size() - 1][0].text();
        taken = take(entries, true);
    }
    count_deliveries();
    return taken;
}

std::size_t consumer::fetch_abandoned() {
    const reply r = call(
        {"XAUTOCLAIM", how_.stream, how_.group, how_.name, how_.idle_time.count(), claim_from_, "COUNT", how_.batch});
    claim_from_ = r[0].text();
    if (claim_from_ == "0-0") claim_at_ = steady_clock::now() + how_.idle_time / 2;
    for (const reply& e : r[1]) {
        if (e.size() == 2) held_.erase(e[0].text());
    }
    const std::size_t taken = take(r[1], true);
    count_deliveries();
    return taken;
}

void consumer::fetch_new() {
    using std::chrono::milliseconds;
    milliseconds block = how_.block_time;
    const auto until_claim = std::chrono::duration_cast<milliseconds>(claim_at_ - steady_clock::now());
    block = std::clamp(until_claim, milliseconds(1), block);
    const reply r = call({"XREADGROUP", "GROUP", how_.group, how_.name, "COUNT", how_.batch, "BLOCK", block.count(),
                          "STREAMS", how_.stream, ">"});
    if (!r.is_nil()) take(r[0][1], false);
}

// Keeps entries for next(). Returns their number.
std::size_t consumer::take(const reply& entries, bool again) {
    std::size_t taken = 0;
    for (const reply& e : entries) {
        if (e.size() != 2) continue;  // Redis 6: an entry that was deleted
        if (!e[1].is_array()) {
            call({"XACK", how_.stream, how_.group, e[0].text()});  // the same, among the own ones
            continue;
        }
        if (!held_.insert(e[0].text()).second) continue;
        ready_.push_back({.id = e[0].text(),
                          .fields = e[1].as<std::vector<std::pair<std::string, std::string>>>(),
                          .deliveries = again ? 0U : 1U});
        ++taken;
    }
    return taken;
}

// Asks how often the entries that were fetched again have been delivered.
void consumer::count_deliveries() {
    std::vector<command> questions;
    questions.reserve(ready_.size());
    for (const entry& e : ready_) questions.push_back({"XPENDING", how_.stream, how_.group, e.id, e.id, 1});
    const std::vector<reply> answers = connection_->call_all(questions, at_.reply_time);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (ready_[i].deliveries == 0)
            ready_[i].deliveries = answers[i].size() == 1 ? answers[i][0][3].as<uint64_t>() : 1;
    }
}

}  // namespace weft::redis
