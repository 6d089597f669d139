// http2_client.h: a client of HTTP/2 that sends what a test tells it to, frame by frame.
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "http/served.h"

namespace weft::test {

// What has come of one stream.
struct h2_stream {
    unsigned status = 0;         // of the last header that is not a trailer
    std::vector<unsigned> info;  // statuses 1xx before it
    std::string head;            // each field: "\nname: value\n"
    std::string body;
    std::string trailers;
    bool has_ended = false;
    std::optional<uint32_t> reset;  // the code of RST_STREAM

    [[nodiscard]] bool has(std::string_view field) const {
        return head.find("\n" + std::string(field) + "\n") != std::string::npos;
    }

    [[nodiscard]] bool is_over() const { return has_ended || reset; }
};

class h2_client {
public:
    using fields = std::vector<std::pair<std::string, std::string>>;

    // Sends the preface, and the settings: pairs of numbers.
    explicit h2_client(const served& of, const std::vector<std::pair<uint16_t, uint32_t>>& settings = {})
        : h2_client(of, true) {
        std::string all;
        for (const auto& [name, value] : settings) all += number(name, 2) + number(value, 4);
        send(NGHTTP2_SETTINGS, 0, 0, all);
    }

    // Without SETTINGS.
    h2_client(const served& of, bool sends_preface) : stream_(net::tcp_stream::connect(of.at())) {
        stream_.set_deadline(std::chrono::steady_clock::now() + 1h);
        nghttp2_hd_inflate_new(&inflater_);
        if (sends_preface) send_bytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    }

    ~h2_client() { nghttp2_hd_inflate_del(inflater_); }

    h2_client(const h2_client&) = delete;
    h2_client& operator=(const h2_client&) = delete;

    static std::string number(uint64_t n, int bytes) {
        std::string all;
        for (int i = bytes - 1; i >= 0; --i) all += static_cast<char>(n >> (8 * i));
        return all;
    }

    static std::string frame(uint8_t type, uint8_t flags, uint32_t id, std::string_view payload) {
        return number(payload.size(), 3) + number(type, 1) + number(flags, 1) + number(id, 4) + std::string(payload);
    }

    // Each field as a literal that is not indexed (RFC 7541, 6.2.2).
    static std::string block(const fields& all) {
        std::string text;
        for (const auto& [name, value] : all) ((((text += '\0') += length(name)) += name) += length(value)) += value;
        return text;
    }

    static fields request_fields(std::string_view method, std::string_view path, const fields& more = {}) {
        fields all = {{":method", std::string(method)},
                      {":scheme", "http"},
                      {":authority", "test"},
                      {":path", std::string(path)}};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }

    void send_bytes(std::string_view text) {
        std::error_code ec;
        stream_.write_all(text, ec);  // the server may have closed
    }

    void send(uint8_t type, uint8_t flags, uint32_t id, std::string_view payload = {}) {
        send_bytes(frame(type, flags, id, payload));
    }

    // A header, and the end of the stream if has_ended.
    void ask(
        uint32_t id, std::string_view method, std::string_view path, const fields& more = {}, bool has_ended = true) {
        send(NGHTTP2_HEADERS,
             static_cast<uint8_t>(NGHTTP2_FLAG_END_HEADERS | (has_ended ? NGHTTP2_FLAG_END_STREAM : 0)), id,
             block(request_fields(method, path, more)));
    }

    void data(uint32_t id, std::string_view bytes, bool has_ended) {
        while (bytes.size() > frame_max) {
            send(NGHTTP2_DATA, 0, id, bytes.substr(0, frame_max));
            bytes.remove_prefix(frame_max);
        }
        send(NGHTTP2_DATA, has_ended ? NGHTTP2_FLAG_END_STREAM : 0, id, bytes);
    }

    void reset(uint32_t id, uint32_t code = NGHTTP2_CANCEL) { send(NGHTTP2_RST_STREAM, 0, id, number(code, 4)); }

    void enlarge(uint32_t id, uint32_t by) { send(NGHTTP2_WINDOW_UPDATE, 0, id, number(by, 4)); }

    // Receives until the stream is over, or the connection.
    const h2_stream& receive(uint32_t id) {
        until([&] { return streams[id].is_over(); });
        return streams[id];
    }

    const h2_stream& get(uint32_t id, std::string_view path) {
        ask(id, "GET", path);
        return receive(id);
    }

    // Receives until done() holds. Returns false if the connection ended before.
    template <typename F>
    bool until(F done) {
        while (!done()) {
            if (!receive_frame()) return false;
        }
        return true;
    }

    // Until the server closes the connection.
    void rest() {
        while (receive_frame()) continue;
    }

    // A frame. Returns false at the end of the connection. Answers SETTINGS and PING.
    bool receive_frame() {
        constexpr std::size_t head_size = 9;
        if (!fill(head_size)) return false;
        const auto byte = [this](std::size_t i) { return static_cast<uint8_t>(pending_[i]); };
        const std::size_t size =
            static_cast<std::size_t>(byte(0)) << 16U | static_cast<std::size_t>(byte(1)) << 8U | byte(2);
        const uint8_t type = byte(3);
        const uint8_t flags = byte(4);
        const uint32_t id = number_at(std::string_view(pending_).substr(5));
        if (!fill(head_size + size)) return false;
        const std::string payload = pending_.substr(head_size, size);
        pending_.erase(0, head_size + size);
        take(type, flags, id, payload);
        return true;
    }

    [[nodiscard]] net::tcp_stream& stream() { return stream_; }

    std::map<uint32_t, h2_stream> streams;
    std::map<uint32_t, uint64_t> enlarged;               // by WINDOW_UPDATE, for each stream
    std::vector<std::pair<uint32_t, uint32_t>> goaways;  // the last stream, the code
    unsigned pings_answered = 0;
    unsigned settings_answered = 0;
    bool answers = true;     // SETTINGS and PING
    bool has_window = true;  // enlarges the windows by what it gets
    bool is_closed = false;

    // The code of the last GOAWAY; 99: none came.
    [[nodiscard]] uint32_t goaway() const { return goaways.empty() ? 99 : goaways.back().second; }

private:
    static constexpr std::size_t frame_max = 16384;

    static std::string length(const std::string& text) {
        constexpr std::size_t prefix = 127;  // RFC 7541, 5.1
        if (text.size() < prefix) return number(text.size(), 1);
        std::string all(1, static_cast<char>(prefix));
        std::size_t rest = text.size() - prefix;
        for (; rest >= 128; rest /= 128) all += static_cast<char>(rest % 128 + 128);
        return all += static_cast<char>(rest);
    }

    static uint32_t number_at(std::string_view text) {
        uint32_t n = 0;
        for (std::size_t i = 0; i < 4; ++i) n = n << 8U | static_cast<uint8_t>(text[i]);
        return n;
    }

    void take(uint8_t type, uint8_t flags, uint32_t id, const std::string& payload) {
        const bool is_ack = (flags & NGHTTP2_FLAG_ACK) != 0;
        switch (type) {
            case NGHTTP2_HEADERS:
            case NGHTTP2_CONTINUATION:
                block_ += payload;
                ends_ = ends_ || (type == NGHTTP2_HEADERS && (flags & NGHTTP2_FLAG_END_STREAM) != 0);
                if ((flags & NGHTTP2_FLAG_END_HEADERS) == 0) break;
                take_header(streams[id], std::exchange(block_, {}));
                streams[id].has_ended = std::exchange(ends_, false);
                break;
            case NGHTTP2_DATA:
                streams[id].body += payload;
                if (has_window && !payload.empty()) {
                    enlarge(0, static_cast<uint32_t>(payload.size()));
                    if ((flags & NGHTTP2_FLAG_END_STREAM) == 0) enlarge(id, static_cast<uint32_t>(payload.size()));
                }
                break;
            case NGHTTP2_RST_STREAM:
                streams[id].reset = number_at(payload);
                break;
            case NGHTTP2_GOAWAY:
                goaways.emplace_back(number_at(payload), number_at(std::string_view(payload).substr(4)));
                break;
            case NGHTTP2_WINDOW_UPDATE:
                enlarged[id] += number_at(payload);
                break;
            case NGHTTP2_SETTINGS:
                settings_answered += is_ack ? 1 : 0;
                if (!is_ack && answers) send(NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0);
                break;
            case NGHTTP2_PING:
                pings_answered += is_ack ? 1 : 0;
                if (!is_ack && answers) send(NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, payload);
                break;
            default:
                break;
        }
        if (type == NGHTTP2_DATA && (flags & NGHTTP2_FLAG_END_STREAM) != 0) streams[id].has_ended = true;
    }

    void take_header(h2_stream& s, const std::string& block) {
        std::string all = "\n";
        const auto* at = reinterpret_cast<const uint8_t*>(block.data());
        std::size_t left = block.size();
        for (;;) {
            nghttp2_nv field;
            int flags = 0;
            const ssize_t n = nghttp2_hd_inflate_hd2(inflater_, &field, &flags, at, left, 1);
            if (n < 0) {
                ADD_FAILURE() << "a header block that cannot be decoded";
                break;
            }
            at += n;
            left -= static_cast<std::size_t>(n);
            if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
                const std::string name(reinterpret_cast<const char*>(field.name), field.namelen);
                const std::string value(reinterpret_cast<const char*>(field.value), field.valuelen);
                if (name == ":status") {
                    if (s.status >= 100 && s.status < 200) s.info.push_back(s.status);
                    s.status = static_cast<unsigned>(std::stoi(value));
                }
                all += name + ": " + value + "\n";
            }
            if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
        }
        nghttp2_hd_inflate_end_headers(inflater_);
        (all.starts_with("\n:status") ? s.head : s.trailers) = all;
    }

    bool fill(std::size_t size) {
        while (pending_.size() < size) {
            std::array<char, 16384> piece;
            std::error_code ec;
            const std::size_t n = stream_.read_some(piece, ec);
            pending_.append(piece.data(), n);
            if (n == 0) {
                is_closed = true;
                return false;
            }
        }
        return true;
    }

    net::tcp_stream stream_;
    std::string pending_;
    std::string block_;  // the header so far
    bool ends_ = false;  // with END_STREAM
    nghttp2_hd_inflater* inflater_ = nullptr;
};

}  // namespace weft::test
