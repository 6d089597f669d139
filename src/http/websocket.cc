// websocket.cc: see weft/http/websocket.h. How one reader and many writers share the connection is
// described in websocket_wire.h.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/error.hpp>
#include <boost/beast/websocket/option.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <boost/beast/zlib/error.hpp>
#include <charconv>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <weft/cancel.h>
#include <weft/http/websocket.h>
#include <weft/mutex.h>

#include "base/utf8.h"
#include "http/deflate.h"
#include "http/exchange.h"
#include "http/parameters.h"
#include "http/text.h"
#include "http/websocket_handshake.h"
#include "http/websocket_wire.h"

namespace weft::http {

namespace beast = boost::beast;
namespace bws = boost::beast::websocket;

using detail::opcode;
using detail::websocket_wire;

namespace {

void check_times(const websocket_options& how) {
    const auto need = [](bool is_good, const char* name) {
        if (!is_good)
            throw std::invalid_argument(std::string("weft: http::websocket_options::") + name + " must be more than 0");
    };
    constexpr std::chrono::nanoseconds none{0};
    need(how.message_max != 0, "message_max");
    need(how.message_time > none, "message_time");
    need(how.ping_time > none, "ping_time");
    need(how.write_time > none, "write_time");
    need(how.close_time > none, "close_time");
}

constexpr const char* bad_close_code = "the code of the close frame may not be sent";

bool may_be_sent(uint16_t code) noexcept {
    constexpr uint16_t first_of_programs = 3000;
    constexpr uint16_t last_of_programs = 4999;
    if (code >= first_of_programs) return code <= last_of_programs;
    return code >= close_code::normal && code <= 1014 && code != 1004 && code != close_code::none &&
           code != close_code::abnormal;
}

bws::request_type beast_request(const request& r) {
    bws::request_type asked{beast::http::verb::get, "/", 11};
    for (const auto& [name, value] : r.headers()) asked.insert(beast::string_view(name), beast::string_view(value));
    return asked;
}

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const std::size_t n = weft::detail::utf8_size(text);
        if (n == 0) return false;
        text.remove_prefix(n);
    }
    return true;
}

// What Beast has agreed on with the client.
int window_bits_of(std::string_view extension) {
    int bits = detail::deflater::largest_window;
    const std::string text = detail::parameter_of(extension, "server_max_window_bits").value_or(std::string());
    std::from_chars(text.data(), text.data() + text.size(), bits);
    return bits;
}

// Whether the handshake alone sets that field: the response has no body, and the connection is not
// kept for HTTP.
bool is_of_handshake(std::string_view name) noexcept {
    return detail::same_text(name, "Connection") || detail::same_text(name, "Upgrade") ||
           detail::same_text(name, "Content-Length");
}

// Whether a message cannot be decompressed. Beast sends no close frame then.
bool is_bad_compression(const boost::system::error_code& ec) noexcept {
    return ec.category() == make_error_code(beast::zlib::error::end_of_stream).category();
}

// The code with which Beast has closed, for an error that is not the peer's close frame.
uint16_t code_of(const boost::system::error_code& ec) noexcept {
    if (ec == bws::error::message_too_big || ec == bws::error::buffer_overflow) return close_code::too_big;
    if (ec == bws::error::bad_frame_payload) return close_code::bad_payload;
    if (ec == bws::condition::protocol_violation) return close_code::protocol_error;
    return close_code::abnormal;
}

}  // namespace

class websocket::state {
public:
    state(detail::exchange& of, websocket_options how)
        : exchange_(of), how_(std::move(how)), socket_(of.upgrade(), how_) {}

    ~state() { exchange_.drain_by(nullptr); }

    state(const state&) = delete;
    state& operator=(const state&) = delete;

    void accept(const request& r, const headers& more);
    std::optional<websocket_message> read();
    bool write(opcode what, std::string_view payload);
    void close(uint16_t code, std::string_view reason);

    // Without waiting for the peer.
    void begin_close(uint16_t code, std::string_view reason) { wire().begin_close(code, reason); }

    [[nodiscard]] const websocket_end& end() const noexcept { return end_; }

    [[nodiscard]] const std::string& subprotocol() const noexcept { return subprotocol_; }

private:
    websocket_wire& wire() noexcept { return socket_.next_layer(); }

    std::optional<websocket_message> read_locked();
    void refuse_bad_close_code();
    void fail(uint16_t code, std::string_view reason);
    void note_end(const boost::system::error_code& ec);
    [[nodiscard]] bool write_compressed(opcode what, std::string_view payload);
    void throw_if_interrupted();

    detail::exchange& exchange_;
    const websocket_options how_;
    bws::stream<websocket_wire> socket_;
    std::string subprotocol_;
    bool compresses_ = false;
    int window_bits_ = detail::deflater::largest_window;

    weft::mutex reading_;
    // Guarded by reading_.
    bool has_ended_ = false;
    bool has_bad_code_ = false;  // of the peer's close frame
    websocket_end end_;

    weft::mutex compressing_;
    std::unique_ptr<detail::deflater> deflater_;  // guarded by compressing_
};

void websocket::state::accept(const request& r, const headers& more) {
    socket_.read_message_max(how_.message_max);
    bws::permessage_deflate pmd;
    pmd.server_enable = how_.compress;
    pmd.server_no_context_takeover = true;  // this side compresses each message on its own
    pmd.client_no_context_takeover = true;
    socket_.set_option(pmd);
    subprotocol_ = detail::choose_subprotocol(r, how_);
    socket_.set_option(bws::stream_base::decorator([&](bws::response_type& answer) {
        if (const auto agreed = answer.find("Sec-WebSocket-Extensions"); agreed != answer.end()) {
            compresses_ = true;
            window_bits_ = window_bits_of({agreed->value().data(), agreed->value().size()});
        }
        if (!subprotocol_.empty()) answer.set("Sec-WebSocket-Protocol", subprotocol_);
        for (const auto& [name, value] : more) {
            if (!is_of_handshake(name)) answer.insert(beast::string_view(name), beast::string_view(value));
        }
        if (!more.has("Server")) answer.set("Server", "weft");  // or Beast names itself
    }));
    socket_.control_callback([this](bws::frame_type what, beast::string_view /*payload*/) {
        if (what == bws::frame_type::close) refuse_bad_close_code();
    });
    boost::system::error_code ec;
    socket_.accept(beast_request(r), ec);
    socket_.set_option(bws::stream_base::decorator([](bws::response_type&) {}));  // it referred to this call
    throw_if_interrupted();
    if (ec) throw std::system_error(std::make_error_code(std::errc::broken_pipe), "weft: cannot begin the WebSocket");
    wire().begin_frames();
    exchange_.drain_by(&wire());
}

void websocket::state::throw_if_interrupted() {
    if (wire().was_interrupted()) throw_if_cancelled();
}

// Beast would echo codes that no peer may send.
void websocket::state::refuse_bad_close_code() {
    const uint16_t code = socket_.reason().code;
    if (code == close_code::none || may_be_sent(code)) return;
    has_bad_code_ = true;
    wire().begin_close(close_code::protocol_error, bad_close_code);
}

// For what Beast does not refuse with a close frame.
void websocket::state::fail(uint16_t code, std::string_view reason) {
    has_ended_ = true;
    end_ = {code, std::string(reason)};
    wire().fail(code, reason);
}

void websocket::state::note_end(const boost::system::error_code& ec) {
    has_ended_ = true;
    if (is_bad_compression(ec)) {
        fail(close_code::bad_payload, "the message cannot be decompressed");
        return;
    }
    if (has_bad_code_) {
        end_ = {close_code::protocol_error, bad_close_code};
        return;
    }
    if (ec == bws::error::closed) {
        const bws::close_reason& peer = socket_.reason();
        end_ = {peer.code, std::string(peer.reason.data(), peer.reason.size())};
        return;
    }
    end_.code = code_of(ec);
    if (end_.code == close_code::abnormal) {
        wire().abandon();
        end_.reason = wire().why() != nullptr ? wire().why() : "the connection was lost";
    } else {
        end_.reason = ec.message();
    }
}

std::optional<websocket_message> websocket::state::read_locked() {
    constexpr std::size_t least_room = 4096;
    websocket_message m;
    std::size_t filled = 0;
    boost::system::error_code ec;
    wire().expect_message();
    do {
        if (m.data.size() - filled < least_room / 2) m.data.resize(std::max(least_room, 2 * m.data.size()));
        filled += socket_.read_some(boost::asio::buffer(m.data.data() + filled, m.data.size() - filled), ec);
    } while (!ec && !socket_.is_message_done());
    if (ec) {
        note_end(ec);
        return std::nullopt;
    }
    m.data.resize(filled);
    m.is_text = socket_.got_text();
    if (m.is_text && !is_utf8(m.data)) {  // Beast does not see it if the last frame is empty
        fail(close_code::bad_payload, "the text is not UTF-8");
        return std::nullopt;
    }
    return m;
}

std::optional<websocket_message> websocket::state::read() {
    const std::lock_guard<weft::mutex> locked(reading_);
    if (has_ended_) return std::nullopt;
    std::optional<websocket_message> m = read_locked();
    if (!m) throw_if_interrupted();
    return m;
}

bool websocket::state::write_compressed(opcode what, std::string_view payload) {
    constexpr std::size_t tail = 4;  // 00 00 FF FF, which the receiver adds (RFC 7692, 7.2.1)
    const std::lock_guard<weft::mutex> locked(compressing_);
    if (deflater_ == nullptr) {
        deflater_ = std::make_unique<detail::deflater>(window_bits_);
    } else {
        deflater_->reset();
    }
    std::string compressed;
    deflater_->add(payload, compressed);
    deflater_->flush(detail::deflater::end::part, compressed);
    compressed.resize(compressed.size() - tail);
    return wire().send(what, compressed, true);
}

bool websocket::state::write(opcode what, std::string_view payload) {
    constexpr std::size_t worth_it = 64;
    const bool is_sent =
        compresses_ && payload.size() >= worth_it ? write_compressed(what, payload) : wire().send(what, payload, false);
    if (!is_sent) throw_if_interrupted();
    return is_sent;
}

void websocket::state::close(uint16_t code, std::string_view reason) {
    begin_close(code, reason);
    std::unique_lock<weft::mutex> locked(reading_, std::try_to_lock);
    if (!locked.owns_lock()) return;  // another green thread reads
    while (!has_ended_ && read_locked()) continue;
    throw_if_interrupted();
}

websocket::websocket(response& w, detail::exchange& of, websocket_options how) {
    const request& r = of.asked();
    check_times(how);
    detail::check_upgrade(r, w, how);
    state_ = std::make_unique<state>(of, std::move(how));
    state_->accept(r, w.headers());
}

websocket::~websocket() {
    try {
        if (std::uncaught_exceptions() != 0) {
            state_->begin_close(close_code::internal_error, {});
        } else {
            state_->close(close_code::normal, {});
        }
    } catch (...) {
        // The caller is interrupted, or there is no memory: the connection ends without a word.
    }
}

std::optional<websocket_message> websocket::read() { return state_->read(); }

bool websocket::write(std::string_view text) { return state_->write(opcode::text, text); }

bool websocket::write_binary(net::const_buffer data) {
    return state_->write(opcode::binary, {static_cast<const char*>(data.data()), data.size()});
}

void websocket::close(uint16_t code, std::string_view reason) {
    constexpr std::size_t longest = 123;
    if (!may_be_sent(code)) {
        throw std::invalid_argument("weft: a WebSocket cannot be closed with the code " + std::to_string(code) +
                                    ": use one of http::close_code, or one from 3000 to 4999");
    }
    if (reason.size() > longest)
        throw std::invalid_argument("weft: the reason for closing a WebSocket must have at most 123 bytes");
    if (!is_utf8(reason)) throw std::invalid_argument("weft: the reason for closing a WebSocket must be UTF-8");
    state_->close(code, reason);
}

const websocket_end& websocket::end() const noexcept { return state_->end(); }

const std::string& websocket::subprotocol() const noexcept { return state_->subprotocol(); }

websocket response::upgrade_websocket() { return upgrade_websocket(websocket_options()); }

websocket response::upgrade_websocket(websocket_options how) {
    check_not_begun("the protocol");
    return websocket(*this, exchange_, std::move(how));
}

}  // namespace weft::http
