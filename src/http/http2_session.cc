// http2_session.cc: a connection of HTTP/2. See http2_session.h; http2_callbacks.cc has what
// nghttp2 calls.
#include "http/http2_session.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include <weft/cancel.h>
#include <weft/error.h>

#include "http/handling.h"
#include "http/http2.h"
#include "http/http2_callbacks.h"
#include "http/later.h"

namespace weft::http::detail {

using namespace std::chrono_literals;

namespace {

// Streams that end before their response: at once, and per second. A browser that leaves a page
// cancels what it has asked for. An attacker cancels each request, to start more than the allowed
// number at a time.
constexpr unsigned resets_at_once = 200;
constexpr unsigned resets_per_second = 20;

// Frames that change nothing.
constexpr unsigned pointless_at_once = 1000;
constexpr unsigned pointless_per_second = 100;

// How long requests that are under way still find the server, if the client does not answer.
constexpr std::chrono::seconds drain_time = 1s;

}  // namespace

http2_session::http2_session(server_state& server, transport& client, input& in, std::string_view peer)
    : server_(server),
      client_(client),
      peer_(peer),
      in_(in),
      write_time_left_(server.how.write_time),
      began_(clock::now()),
      idle_since_(began_),
      resets_(resets_at_once, resets_per_second),
      pointless_(pointless_at_once, pointless_per_second) {
    begin();
}

void http2_session::begin() {
    native_.reset(make_http2_native(*this));
    const std::array<nghttp2_settings_entry, 2> settings{{
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
         static_cast<uint32_t>(
             std::min<std::size_t>(server_.how.http2_streams_max, NGHTTP2_INITIAL_MAX_CONCURRENT_STREAMS))},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE,
         static_cast<uint32_t>(std::min<std::size_t>(server_.how.header_max, UINT32_MAX))},
    }};
    if (nghttp2_submit_settings(native_.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size()) != 0 ||
        nghttp2_session_set_local_window_size(native_.get(), NGHTTP2_FLAG_NONE, 0, window) != 0) {
        throw std::bad_alloc();
    }
}

bool http2_session::serve() {
    weft::scope([this](weft::task_scope& threads) {
        threads.go([this] { write_on(); });
        read_on(threads);
    });
    return may_come_more_;
}

// ---- The reader.

void http2_session::read_on(weft::task_scope& streams) {
    while (await_room()) {
        if (in_.empty() && !read_more()) continue;
        take_input();
        start_ready(streams);
    }
}

// Waits until few frames wait to be sent. Returns false at the end of the connection.
bool http2_session::await_room() {
    locked held(lock_);
    changed_.wait(held, [this] {
        return is_over_ || (!is_terminating_ && nghttp2_session_get_outbound_queue_size(native_.get()) < queue_max &&
                            nghttp2_session_want_read(native_.get()) != 0);
    });
    return !is_over_;
}

// Returns false if nothing was read: a deadline has passed, or there is something else to do.
bool http2_session::read_more() {
    const clock::time_point now = clock::now();
    clock::time_point until;
    {
        const locked held(lock_);
        act_on_time_locked(now);
        if (nghttp2_session_want_write(native_.get()) != 0) wake_writer_locked();
        if (is_terminating_ || nghttp2_session_want_read(native_.get()) == 0) return false;
        until = deadline_locked(now);
    }
    if (!set_deadline(until, now)) return false;
    std::error_code ec;
    const std::size_t n = client_.read_some(in_.room_of(read_size_), ec);
    in_.add(n);
    read_size_ = n == read_size_ ? std::min(4 * read_size_, read_max) : input::least;
    if (n != 0) return true;
    bool is_time = false;
    if (ec == weft::errc::timed_out) {
        const std::lock_guard<weft::mutex> held(deadline_lock_);
        is_time = is_woken_ || clock::now() >= armed_until_;
    }
    if (!is_time) lose(!ec);
    return false;
}

// The deadline of the next read: see the top of http2_session.h. Returns false if another thread
// has woken the reader.
bool http2_session::set_deadline(clock::time_point when, clock::time_point now) {
    const std::lock_guard<weft::mutex> held(deadline_lock_);
    if (std::exchange(is_woken_, false)) {
        armed_until_ = {};
        return false;
    }
    if (armed_until_ > now && armed_until_ <= when) return true;
    client_.set_read_deadline(when);
    armed_until_ = when;
    return true;
}

http2_session::clock::time_point http2_session::deadline_locked(clock::time_point now) const {
    const server_options& how = server_.how;
    clock::time_point until = later(has_started_locked() ? now : idle_since_, how.idle_time);
    if (building_) until = std::min(until, later(header_began_, how.header_time));
    if (!has_settings_) until = std::min(until, later(began_, how.header_time));
    if (drain_ == drain_step::announced) until = std::min(until, announced_until_);
    return until;
}

void http2_session::act_on_time_locked(clock::time_point now) {
    const server_options& how = server_.how;
    if (is_draining_.load() && drain_ == drain_step::none) announce_end_locked(now);
    if (drain_ == drain_step::announced && now >= announced_until_) refuse_new_locked();
    if ((building_ && now >= later(header_began_, how.header_time)) ||
        (!has_settings_ && now >= later(began_, how.header_time))) {
        terminate_locked(NGHTTP2_ENHANCE_YOUR_CALM);
    } else if (!has_started_locked() && !building_ && now >= later(idle_since_, how.idle_time)) {
        terminate_locked(NGHTTP2_NO_ERROR);
    }
}

void http2_session::take_input() {
    const locked held(lock_);
    if (is_over_) return;
    const std::string_view text = in_.text();
    const ssize_t used =
        nghttp2_session_mem_recv(native_.get(), reinterpret_cast<const uint8_t*>(text.data()), text.size());
    if (used < 0) {  // no preface, no memory, or too many answers that the client has not read
        may_come_more_ = true;
        end_locked();
        return;
    }
    in_.consume(static_cast<std::size_t>(used));
    if (nghttp2_session_want_write(native_.get()) != 0 || nghttp2_session_want_read(native_.get()) == 0)
        wake_writer_locked();
}

// Starts a green thread for each request whose header is complete.
void http2_session::start_ready(weft::task_scope& streams) {
    std::vector<std::shared_ptr<http2_stream>> all;
    {
        const locked held(lock_);
        all.swap(ready_);
    }
    for (const std::shared_ptr<http2_stream>& one : all) {
        try {
            {
                const locked held(lock_);
                streams_.insert(one.get());
                if (is_over_) one->close_locked();
            }
            streams.go([one] { one->run(); });
        } catch (const std::exception& e) {
            std::fprintf(stderr, "weft: http: refused a request: %s\n", e.what());
            const locked held(lock_);
            reset_locked(one->id(), NGHTTP2_REFUSED_STREAM);
            leave_locked(*one);
        }
    }
}

// The client has closed its sending side (is_end), or the connection is broken.
void http2_session::lose(bool is_end) {
    {
        locked held(lock_);
        if (is_end && !server_.how.cancel_if_client_gone) {  // it gets what its handlers send
            for (http2_stream* const s : streams_) s->lose_body_locked();
            changed_.wait(held, [this] { return is_over_ || streams_.empty(); });
            wake_writer_locked();
            changed_.wait(held, [this] { return is_over_ || is_writer_idle_; });
        }
        end_locked();
    }
    client_.close();
}

// ---- The writer.

void http2_session::write_on() {
    locked held(lock_);
    while (!is_over_) {
        fill_batch_locked();
        if (is_over_) break;  // no memory
        if (batch_.empty() && nghttp2_session_want_read(native_.get()) == 0 &&
            nghttp2_session_want_write(native_.get()) == 0) {
            may_come_more_ = true;
            end_locked();
        } else if (batch_.empty()) {
            if (batch_.capacity() > batch_kept) std::string().swap(batch_);
            is_writer_idle_ = true;
            changed_.notify_all();
            to_write_.wait(held);
        } else {
            std::error_code ec;
            held.unlock();
            write_batch(ec);
            held.lock();
            if (ec) end_locked();
            changed_.notify_all();
        }
    }
    held.unlock();
    wake_reader();
}

void http2_session::fill_batch_locked() {
    batch_.clear();
    while (batch_.size() < batch_max) {
        const uint8_t* frame = nullptr;
        const ssize_t n = nghttp2_session_mem_send(native_.get(), &frame);
        if (n < 0) end_locked();
        if (n <= 0) break;  // or the batch is full: see send_data() in http2_callbacks.cc
        batch_.append(reinterpret_cast<const char*>(frame), static_cast<std::size_t>(n));
    }
}

// Each 256 KiB have a time of their own.
void http2_session::write_batch(std::error_code& ec) {
    const clock::time_point begin = clock::now();
    client_.set_write_deadline(later(begin, write_time_left_));
    const std::array<net::const_buffer, 1> all{net::const_buffer(batch_)};
    client_.writev_all(all, ec);
    write_time_left_ -= clock::now() - begin;
    written_in_time_ += batch_.size();
    if (written_in_time_ < bytes_in_time) return;
    written_in_time_ = 0;
    write_time_left_ = server_.how.write_time;
}

// ---- The end.

void http2_session::end_locked() {
    if (std::exchange(is_over_, true)) return;
    for (http2_stream* const s : streams_) s->close_locked();
    to_write_.notify_all();
    changed_.notify_all();
}

// GOAWAY with that code. The connection is over when it is sent, or at once without memory for it.
void http2_session::terminate_locked(uint32_t code) {
    is_terminating_ = true;
    wake_writer_locked();
    if (nghttp2_session_terminate_session(native_.get(), code) != 0) end_locked();
}

void http2_session::reset_locked(int32_t stream, uint32_t code) {
    wake_writer_locked();
    if (nghttp2_submit_rst_stream(native_.get(), NGHTTP2_FLAG_NONE, stream, code) != 0) end_locked();
}

void http2_session::announce_end_locked(clock::time_point now) {
    drain_ = drain_step::announced;
    announced_until_ = now + drain_time;
    nghttp2_submit_shutdown_notice(native_.get());
    nghttp2_submit_ping(native_.get(), NGHTTP2_FLAG_NONE, http2_drain_ping.data());
    wake_writer_locked();
}

void http2_session::refuse_new_locked() {
    drain_ = drain_step::last;
    wake_writer_locked();
    const int32_t last = nghttp2_session_get_last_proc_stream_id(native_.get());
    if (nghttp2_submit_goaway(native_.get(), NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, nullptr, 0) != 0) end_locked();
}

void http2_session::leave_locked(http2_stream& s) noexcept {
    if (nghttp2_session_get_stream_user_data(native_.get(), s.id()) == &s)
        nghttp2_session_set_stream_user_data(native_.get(), s.id(), nullptr);
    s.drop_body_locked();
    if (!s.is_finished_locked()) --unfinished_;
    streams_.erase(&s);
    if (!streams_.empty()) return;
    idle_since_ = clock::now();
    changed_.notify_all();
}

// Ends the read that waits, or the next one.
void http2_session::wake_reader() noexcept {
    const std::lock_guard<weft::mutex> held(deadline_lock_);
    is_woken_ = true;
    client_.set_read_deadline(transport::time_point::min());
}

void http2_session::drain() noexcept {
    is_draining_ = true;
    wake_reader();
}

void http2_session::cut_off() noexcept {
    const locked held(lock_);
    end_locked();
    for (http2_stream* const s : streams_) s->cancel_locked();
}

bool has_http2() noexcept { return true; }

bool serve_http2(server_state& server, transport& client, input& in, place& of_client, const std::string& peer) {
    http2_session session(server, client, in, peer);
    const auto leave = [](place* p) { p->drain_by(nullptr); };
    of_client.drain_by(&session);
    const std::unique_ptr<place, decltype(leave)> at_end(&of_client, leave);
    return session.serve();
}

}  // namespace weft::http::detail
