// driver.cc: see driver.h.
#include "http_client/driver.h"

#include <array>
#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include <weft/detail/time_point.h>
#include <weft/select.h>
#include <weft/wait_fd.h>

namespace weft::http::detail {

namespace {

std::chrono::steady_clock::time_point time_point_of(int64_t ns) noexcept {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(ns));
}

template <typename T>
void set_of_multi(CURLM* multi, CURLMoption which, T value) {
    if (const CURLMcode result = curl_multi_setopt(multi, which, value); result != CURLM_OK) {
        throw std::system_error(client_errc::failed, std::string("weft: http::client: ") + curl_multi_strerror(result));
    }
}

long as_long(std::size_t count) noexcept {
    constexpr std::size_t most = 1'000'000;
    return static_cast<long>(count < most ? count : most);
}

}  // namespace

driver::driver(std::shared_ptr<mailbox> orders, const client_options& how)
    : orders_(std::move(orders)),
      cookies_(how.cookies),
      share_(curl_share_init()),
      multi_(curl_multi_init()),
      timer_ns_(weft::detail::never) {
    if (share_ == nullptr || multi_ == nullptr) throw std::bad_alloc();
    curl_share_setopt(share_.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    if (cookies_) curl_share_setopt(share_.get(), CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE);
    set_of_multi(multi_.get(), CURLMOPT_SOCKETFUNCTION, &driver::on_socket);
    set_of_multi(multi_.get(), CURLMOPT_SOCKETDATA, this);
    set_of_multi(multi_.get(), CURLMOPT_TIMERFUNCTION, &driver::on_timer);
    set_of_multi(multi_.get(), CURLMOPT_TIMERDATA, this);
    set_of_multi(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS, as_long(how.connections_per_host));
    set_of_multi(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, as_long(how.connections_max));
    set_of_multi(multi_.get(), CURLMOPT_MAXCONNECTS, as_long(how.idle_connections_max));
}

void driver::run() noexcept {
    std::error_code why = client_errc::client_closed;
    try {
        while (broken_.empty()) {
            wait_for_work();
            if (orders_->is_closed()) break;
            take_orders();
            act_on_sockets();
            act_on_time();
            report_finished();
        }
    } catch (const std::bad_alloc&) {
        why = std::make_error_code(std::errc::not_enough_memory);
    } catch (...) {
        // The runtime shuts down.
    }
    if (!broken_.empty()) why = client_errc::failed;
    end(why);
}

void driver::wait_for_work() {
    if (sockets_.is_empty()) {
        static_cast<void>(orders_->wake().recv_until(time_point_of(timer_ns_)));
        return;
    }
    select(on_readable(sockets_.descriptor(), [] {}), on_recv(orders_->wake(), [](std::optional<bool>) {}),
           on_timeout(time_point_of(timer_ns_), [] {}));
}

void driver::take_orders() {
    for (mailbox::order next = orders_->take(); next.of != nullptr; next = orders_->take()) {
        if (next.what.abandon) {
            remove(*next.of, client_errc::failed, "it was abandoned");
        } else {
            if (next.what.start) start(next.of);
            if (next.what.resume) resume(*next.of);
        }
    }
}

void driver::start(const std::shared_ptr<transfer>& what) {
    CURL* const easy = what->easy.get();
    try {
        set(easy, CURLOPT_SHARE, static_cast<void*>(share_.get()));
        if (cookies_) set(easy, CURLOPT_COOKIEFILE, "");  // keeps cookies in memory
        running_.emplace(what.get(), what);
    } catch (const std::exception& e) {
        what->finish(client_errc::failed, e.what());
        what->easy.reset();
        return;
    }
    const CURLMcode result = curl_multi_add_handle(multi_.get(), easy);
    if (result != CURLM_OK) remove(*what, client_errc::failed, curl_multi_strerror(result));
}

void driver::resume(transfer& what) {
    if (!running_.contains(&what)) return;
    what.will_resume();
    if (const CURLcode result = curl_easy_pause(what.easy.get(), CURLPAUSE_CONT); result != CURLE_OK)
        remove(what, code_of(result), what.error_text.data());
}

void driver::remove(transfer& what, std::error_code why, std::string words) noexcept {
    const auto found = running_.find(&what);
    if (found != running_.end()) curl_multi_remove_handle(multi_.get(), what.easy.get());
    what.easy.reset();
    what.finish(why, std::move(words));
    if (found != running_.end()) running_.erase(found);
}

void driver::act_on_sockets() {
    std::array<socket_set::event, 64> events;
    const std::size_t count = sockets_.is_empty() ? 0 : sockets_.ready(events);
    for (std::size_t i = 0; i < count; ++i) {
        const socket_set::event& e = events[i];
        const int mask = (e.is_readable ? CURL_CSELECT_IN : 0) | (e.is_writable ? CURL_CSELECT_OUT : 0) |
                         (e.has_failed ? CURL_CSELECT_ERR : 0);
        int left = 0;
        check(curl_multi_socket_action(multi_.get(), e.fd, mask, &left));
    }
}

void driver::act_on_time() {
    if (timer_ns_ > weft::detail::now_ns()) return;
    timer_ns_ = weft::detail::never;  // libcurl sets the next one
    int left = 0;
    check(curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &left));
}

void driver::report_finished() {
    int left = 0;
    while (const CURLMsg* const said = curl_multi_info_read(multi_.get(), &left)) {
        if (said->msg != CURLMSG_DONE) continue;
        const CURLcode result = said->data.result;  // said is gone after the removal
        transfer* what = nullptr;
        curl_easy_getinfo(said->easy_handle, CURLINFO_PRIVATE, &what);
        const char* words = what->error_text[0] != '\0' ? what->error_text.data() : curl_easy_strerror(result);
        remove(*what, code_of(result), result == CURLE_OK ? "" : words);
    }
}

void driver::end(std::error_code why) noexcept {
    orders_->close();
    while (!running_.empty()) remove(*running_.begin()->first, why, broken_);
    for (mailbox::order next = orders_->take(); next.of != nullptr; next = orders_->take())
        remove(*next.of, why, broken_);
    multi_.reset();  // calls on_socket
}

void driver::check(CURLMcode result) noexcept {
    if (result == CURLM_OK || result == CURLM_BAD_SOCKET) return;  // a socket that was closed just before
    if (broken_.empty()) broken_ = curl_multi_strerror(result);
}

int driver::on_socket(CURL* /*easy*/, curl_socket_t fd, int what, driver* me, void* /*unused*/) noexcept {
    if (what == CURL_POLL_REMOVE) {
        me->sockets_.forget(fd);
        return 0;
    }
    return me->sockets_.watch(fd, (what & CURL_POLL_IN) != 0, (what & CURL_POLL_OUT) != 0) ? 0 : -1;
}

int driver::on_timer(CURLM* /*multi*/, long ms, driver* me) noexcept {
    me->timer_ns_ = ms < 0 ? weft::detail::never : weft::detail::deadline_after(std::chrono::milliseconds(ms));
    return 0;
}

}  // namespace weft::http::detail
