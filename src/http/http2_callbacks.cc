// http2_callbacks.cc: see http2_callbacks.h. All of them are called with the session's lock held,
// by the reader (x_received, header fields) or the writer (send_data, frame_sent). A stream may be
// closed by both.
#include "http/http2_callbacks.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <string_view>

#include "http/http2_session.h"
#include "http/http2_stream.h"

namespace weft::http::detail {

struct http2_callbacks {
    using native = nghttp2_session;
    using clock = std::chrono::steady_clock;

    static http2_session& of(void* user) noexcept { return *static_cast<http2_session*>(user); }

    // nullptr: its handler has returned.
    static http2_stream* stream_of(native* s, int32_t id) noexcept {
        return static_cast<http2_stream*>(nghttp2_session_get_stream_user_data(s, id));
    }

    // No exception may go through nghttp2.
    template <typename F>
    static int guarded(F f) noexcept {
        try {
            return f();
        } catch (...) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
    }

    static std::string_view text_of(const uint8_t* data, size_t size) noexcept {
        return {reinterpret_cast<const char*>(data), size};
    }

    static bool is_request(const nghttp2_frame* f) noexcept {
        return f->hd.type == NGHTTP2_HEADERS && f->headers.cat == NGHTTP2_HCAT_REQUEST;
    }

    static void end_if_too_many(http2_session& s, rate_limit& of_what) {
        if (!of_what.take(clock::now())) s.terminate_locked(NGHTTP2_ENHANCE_YOUR_CALM);
    }

    // The request whose header is being read will not be handled.
    static void forget_building(native* n, http2_session& s) noexcept {
        if (s.building_) nghttp2_session_set_stream_user_data(n, s.building_->id(), nullptr);
        s.building_.reset();
    }

    static int header_begins(native* n, const nghttp2_frame* f, void* user) noexcept {
        return guarded([&] {
            http2_session& s = of(user);
            if (!is_request(f)) return 0;
            forget_building(n, s);
            s.building_ = std::make_shared<http2_stream>(s, f->hd.stream_id);
            s.header_began_ = clock::now();
            nghttp2_session_set_stream_user_data(n, f->hd.stream_id, s.building_.get());
            return 0;
        });
    }

    static int field_received(native* n,
                              const nghttp2_frame* f,
                              const uint8_t* name,
                              size_t name_size,
                              const uint8_t* value,
                              size_t value_size,
                              uint8_t /*flags*/,
                              void* user) noexcept {
        return guarded([&]() -> int {
            http2_session& s = of(user);
            http2_stream* const stream = stream_of(n, f->hd.stream_id);
            if (stream == nullptr) return 0;
            if (!is_request(f)) {
                stream->add_trailer_locked(text_of(name, name_size), text_of(value, value_size));
                return 0;
            }
            const std::size_t all = stream->add_field(text_of(name, name_size), text_of(value, value_size));
            if (all / http2_session::header_max_factor <= s.server_.how.header_max) return 0;
            s.terminate_locked(NGHTTP2_ENHANCE_YOUR_CALM);
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        });
    }

    // nghttp2 would ignore the field. RFC 9113, 8.2.1: the request is malformed.
    static int invalid_field_received(native* n,
                                      const nghttp2_frame* f,
                                      const uint8_t* /*name*/,
                                      size_t /*name_size*/,
                                      const uint8_t* /*value*/,
                                      size_t /*value_size*/,
                                      uint8_t /*flags*/,
                                      void* /*user*/) noexcept {
        nghttp2_submit_rst_stream(n, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_PROTOCOL_ERROR);
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }

    // A header is complete. More requests at once than allowed are refused. Those that the client
    // has reset count, too, until their handlers have returned.
    static int request_received(native* n, http2_session& s, const nghttp2_frame* f) {
        if (!s.building_ || s.building_->id() != f->hd.stream_id) return 0;
        const std::size_t most = s.server_.how.http2_streams_max;
        if (s.unfinished_ >= most || s.streams_.size() + s.ready_.size() >= 2 * most || s.is_over_) {
            s.reset_locked(f->hd.stream_id, NGHTTP2_REFUSED_STREAM);
            forget_building(n, s);
            end_if_too_many(s, s.resets_);
            return 0;
        }
        if ((f->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) s.building_->end_body_locked();
        s.building_->end_header();
        ++s.unfinished_;
        s.ready_.push_back(std::move(s.building_));
        return 0;
    }

    static int frame_received(native* n, const nghttp2_frame* f, void* user) noexcept {
        return guarded([&]() -> int {
            http2_session& s = of(user);
            const bool is_end = (f->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
            const bool is_answer = (f->hd.flags & NGHTTP2_FLAG_ACK) != 0;
            switch (f->hd.type) {
                case NGHTTP2_HEADERS:
                    if (is_request(f)) return request_received(n, s, f);
                    [[fallthrough]];
                case NGHTTP2_DATA:
                    if (is_end) {
                        if (http2_stream* const stream = stream_of(n, f->hd.stream_id)) stream->end_body_locked();
                    } else if (f->hd.type == NGHTTP2_DATA && f->hd.length == f->data.padlen) {  // only padding
                        end_if_too_many(s, s.pointless_);
                    }
                    break;
                case NGHTTP2_SETTINGS:
                    if (!is_answer && s.has_settings_) end_if_too_many(s, s.pointless_);
                    s.has_settings_ = true;
                    break;
                case NGHTTP2_PING:
                    if (!is_answer) {
                        end_if_too_many(s, s.pointless_);
                    } else if (s.drain_ == http2_session::drain_step::announced &&
                               std::equal(http2_drain_ping.begin(), http2_drain_ping.end(), f->ping.opaque_data)) {
                        s.refuse_new_locked();
                    }
                    break;
                case NGHTTP2_PRIORITY:
                    end_if_too_many(s, s.pointless_);
                    break;
                default:
                    break;
            }
            return 0;
        });
    }

    // nghttp2 has refused it: there are too many streams, or it is malformed.
    static int refused(native* /*n*/, const nghttp2_frame* f, int /*why*/, void* user) noexcept {
        http2_session& s = of(user);
        if (f->hd.type == NGHTTP2_HEADERS) end_if_too_many(s, s.resets_);
        return 0;
    }

    static int data_received(
        native* n, uint8_t /*flags*/, int32_t id, const uint8_t* data, size_t size, void* /*user*/) noexcept {
        return guarded([&] {
            if (http2_stream* const stream = stream_of(n, id)) {
                stream->add_body_locked(text_of(data, size));
            } else {
                nghttp2_session_consume_connection(n, size);
            }
            return 0;
        });
    }

    static int stream_closed(native* n, int32_t id, uint32_t code, void* user) noexcept {
        return guarded([&] {
            http2_session& s = of(user);
            http2_stream* const stream = stream_of(n, id);

            if (stream == nullptr) return 0;
            const bool is_finished = stream->is_finished_locked();
            if (stream == s.building_.get()) {
                forget_building(n, s);
            } else {
                stream->close_locked();
            }
            if (!is_finished && code != NGHTTP2_INTERNAL_ERROR) end_if_too_many(s, s.resets_);
            return 0;
        });
    }

    static int send_data(native* n,
                         nghttp2_frame* f,
                         const uint8_t* frame_header,
                         size_t size,
                         nghttp2_data_source* /*source*/,
                         void* user) noexcept {
        return guarded([&]() -> int {
            constexpr std::size_t frame_header_size = 9;
            http2_session& s = of(user);
            if (s.batch_.size() >= http2_session::batch_max) return NGHTTP2_ERR_WOULDBLOCK;
            http2_stream* const stream = stream_of(n, f->hd.stream_id);
            if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
            const std::size_t before = s.batch_.size();
            s.batch_.append(reinterpret_cast<const char*>(frame_header), frame_header_size);
            if (stream->take_locked(size, s.batch_)) return 0;  // without padding: no callback asks for it
            s.batch_.resize(before);
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        });
    }

    static int frame_sent(native* n, const nghttp2_frame* f, void* /*user*/) noexcept {
        if ((f->hd.type != NGHTTP2_DATA && f->hd.type != NGHTTP2_HEADERS) ||
            (f->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) {
            return 0;
        }
        if (http2_stream* const stream = stream_of(n, f->hd.stream_id)) stream->end_sent_locked();
        return 0;
    }
};

nghttp2_session* make_http2_native(http2_session& of) {
    struct free_callbacks {
        void operator()(nghttp2_session_callbacks* c) const noexcept { nghttp2_session_callbacks_del(c); }
    };

    struct free_option {
        void operator()(nghttp2_option* o) const noexcept { nghttp2_option_del(o); }
    };

    nghttp2_session_callbacks* new_calls = nullptr;
    if (nghttp2_session_callbacks_new(&new_calls) != 0) throw std::bad_alloc();
    const std::unique_ptr<nghttp2_session_callbacks, free_callbacks> calls(new_calls);
    nghttp2_option* new_option = nullptr;
    if (nghttp2_option_new(&new_option) != 0) throw std::bad_alloc();
    const std::unique_ptr<nghttp2_option, free_option> option(new_option);
    nghttp2_option_set_no_auto_window_update(option.get(), 1);
    nghttp2_option_set_no_closed_streams(option.get(), 1);
    constexpr std::size_t of_the_server = 1024;  // such as Date
    nghttp2_option_set_max_send_header_block_length(option.get(), http2_session::sent_header_max + of_the_server);
    nghttp2_session_callbacks_set_on_begin_headers_callback(calls.get(), http2_callbacks::header_begins);
    nghttp2_session_callbacks_set_on_header_callback(calls.get(), http2_callbacks::field_received);
    nghttp2_session_callbacks_set_on_invalid_header_callback(calls.get(), http2_callbacks::invalid_field_received);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls.get(), http2_callbacks::frame_received);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(calls.get(), http2_callbacks::refused);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls.get(), http2_callbacks::data_received);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls.get(), http2_callbacks::stream_closed);
    nghttp2_session_callbacks_set_send_data_callback(calls.get(), http2_callbacks::send_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(calls.get(), http2_callbacks::frame_sent);
    nghttp2_session* made = nullptr;
    if (nghttp2_session_server_new2(&made, calls.get(), &of, option.get()) != 0) throw std::bad_alloc();
    return made;
}

}  // namespace weft::http::detail
