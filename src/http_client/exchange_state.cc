// exchange_state.cc: see exchange_state.h.
#include "http_client/exchange_state.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <weft/backoff.h>
#include <weft/detail/time_point.h>
#include <weft/time.h>

#include "http/text.h"
#include "http_client/policy.h"
#include "http_client/urls.h"

namespace weft::http::detail {

using held = std::unique_lock<weft::mutex>;

namespace {

constexpr std::size_t upload_part = 64 * 1024;

// A redirect's body is read up to there, so that its connection can be used again.
constexpr uint64_t dropped_max = 64 * 1024;

std::string checked_method(const std::string& method) {
    if (!is_token(method)) {
        throw std::invalid_argument("weft: http::client: \"" + method + "\" is no method: write a word like GET");
    }
    return method;
}

std::optional<uint64_t> length_of(const headers& fields) noexcept {
    uint64_t length = 0;
    const std::string_view text = fields.get("Content-Length");
    if (text.empty()) return std::nullopt;
    for (const char c : text) {
        if (c < '0' || c > '9' || length > UINT64_MAX / 10 - 10) return std::nullopt;
        length = length * 10 + static_cast<uint64_t>(c - '0');
    }
    return length;
}

}  // namespace

exchange_state::exchange_state(std::shared_ptr<client_state> of, client_request r)
    : client_(std::move(of)),
      request_(std::move(r)),
      body_(std::make_shared<const std::string>(std::move(request_.body))),
      hop_{request_.url, checked_method(request_.method), true, true},
      deadline_ns_(weft::detail::deadline_after(request_.total_time.value_or(client_->how.total_time))) {
    check_url(request_.url);
}

wait_limits exchange_state::limits() const noexcept {
    return {deadline_ns_, weft::detail::saturated_ns(client_->how.idle_time)};
}

void exchange_state::run() {
    for (;;) {
        begin();
        const std::error_code failed = await_head();
        if (pause_for_retry(failed)) continue;
        if (failed) fail(failed);
        if (!follow()) return;
    }
}

void exchange_state::begin() {
    leave();
    transfer_ = set_up(client_->how, request_, body_, hop_);
    if (!client_->orders->start(*transfer_)) fail(client_errc::client_closed);
}

// Abandons the transfer, unless it has ended. The driver does the work.
void exchange_state::leave() noexcept {
    if (transfer_ == nullptr) return;
    if (!has_ended()) client_->orders->abandon(*transfer_);
    transfer_.reset();
}

void exchange_state::fail(std::error_code why) {
    std::string about = "weft: " + hop_.method + " " + without_password(hop_.url);
    if (transfer_ != nullptr) {
        const held lock(transfer_->lock);
        if (transfer_->is_done && !transfer_->words.empty()) about += " (" + transfer_->words + ")";
    }
    failed_ = why;
    client_->orders->abandon(*transfer_);
    throw std::system_error(why, about);
}

// An upload goes on until its end, unless the server has refused it before.
bool exchange_state::has_what_it_needs() const noexcept {
    const transfer& t = *transfer_;
    const bool is_uploading = is_streaming() && !t.is_output_ended && t.status < 400;
    return t.is_done || (t.is_head_complete && !is_uploading);
}

bool exchange_state::has_ended() const noexcept {
    const held lock(transfer_->lock);
    return transfer_->is_done;
}

std::error_code exchange_state::await_head() {
    for (;;) {
        {
            held lock(transfer_->lock);
            const std::error_code late =
                transfer_->wait(lock, limits(), [&] { return has_what_it_needs() || transfer_->wants_output(); });
            if (late) return late;
            if (has_what_it_needs()) return transfer_->is_head_complete ? std::error_code{} : transfer_->error;
        }
        feed();
    }
}

// Calls the program's function, without a lock: it may wait.
void exchange_state::feed() {
    std::string part(upload_part, '\0');
    const std::size_t count = request_.body_from(net::mutable_buffer(part));
    if (count > part.size()) {
        throw std::logic_error("weft: http::client: body_from returned more bytes than its buffer has");
    }
    {
        const held lock(transfer_->lock);
        transfer_->give(std::string_view(part).substr(0, count));
    }
    client_->orders->resume(*transfer_);
}

bool exchange_state::follow() {
    if (client_->how.redirects_max == 0 || !is_redirect(transfer_->status)) return false;
    const std::string location(transfer_->fields.get("Location"));
    if (location.empty()) return false;
    const bool keeps = keeps_method(transfer_->status, hop_.method);
    if (keeps && is_streaming()) return false;  // it cannot be read again
    if (redirects == client_->how.redirects_max) fail(client_errc::too_many_redirects);
    hop next{redirect_target(hop_.url, location), keeps ? hop_.method : "GET", keeps && hop_.keeps_body, true};
    next.has_credentials = hop_.has_credentials && same_origin(hop_.url, next.url);
    drop_body();
    hop_ = std::move(next);
    ++redirects;
    return true;
}

// Reads the rest of a short body, so that the connection can be used again.
void exchange_state::drop_body() {
    const std::optional<uint64_t> length = length_of(transfer_->fields);
    if (!length || *length > dropped_max) return;
    held lock(transfer_->lock);
    transfer_->is_discarding = true;
    [[maybe_unused]] const auto late = transfer_->wait(lock, limits(), [&] { return transfer_->is_done; });
}

bool exchange_state::pause_for_retry(std::error_code failed) {
    const client_options& how = client_->how;
    const bool may_help = failed ? is_temporary(failed) : is_temporary(transfer_->status);
    const bool may_repeat = is_idempotent(hop_.method) && !is_streaming();
    if (!may_help || !may_repeat || retries == how.retries_max) return false;
    std::chrono::nanoseconds pause = retry_pause(how, retries, weft::detail::backoff_random());
    if (!failed) {
        const std::optional<std::chrono::nanoseconds> asked = retry_after(transfer_->fields.get("Retry-After"));
        if (asked && *asked > how.retry_delay_max) return false;  // longer than the program wants to wait
        if (asked) pause = std::max(pause, *asked);
    }
    if (pause.count() >= deadline_ns_ - weft::detail::now_ns()) return false;
    if (!failed) drop_body();
    leave();
    weft::sleep_for(pause);
    ++retries;
    return true;
}

std::size_t exchange_state::read_some(net::mutable_buffer b) {
    if (failed_) throw std::system_error(failed_, "weft: http::reply: an earlier read has failed");
    if (b.size() == 0) return 0;
    bool must_resume = false;
    std::size_t count = 0;
    std::error_code why;
    {
        held lock(transfer_->lock);
        why = transfer_->wait(lock, limits(), [&] { return transfer_->available() != 0 || transfer_->is_done; });
        if (!why && transfer_->available() == 0) why = transfer_->error;
        if (!why) count = transfer_->take(b.data(), b.size(), must_resume);
    }
    if (why) fail(why);
    if (must_resume) client_->orders->resume(*transfer_);
    return count;
}

const std::string& exchange_state::body() {
    const uint64_t most = client_->how.body_max;
    if (hop_.method != "HEAD" && text_.empty() && length_of(transfer_->fields).value_or(0) > most)
        fail(client_errc::body_too_large);
    std::array<char, 16 * 1024> part;
    while (const std::size_t count = read_some(part)) {
        if (count > most - text_.size()) fail(client_errc::body_too_large);
        text_.append(part.data(), count);
    }
    return text_;
}

}  // namespace weft::http::detail
