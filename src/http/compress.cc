// compress.cc: see weft/http/compress.h.
#include <array>
#include <boost/crc.hpp>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <weft/http/compress.h>

#include "http/accept.h"
#include "http/body_filter.h"
#include "http/deflate.h"
#include "http/exchange.h"
#include "http/text.h"

namespace weft::http {

namespace {

using detail::access;
using detail::response_parts;

// A gzip file of one member (RFC 1952).
class gzip {
public:
    void begin(std::string& to) {
        // No name, no time; the operating system is unknown.
        constexpr std::string_view head("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
        to += head;
    }

    void add(std::string_view data, std::string& to) {
        crc_.process_bytes(data.data(), data.size());
        size_ += data.size();
        deflated_.add(data, to);
    }

    void flush(std::string& to) { deflated_.flush(detail::deflater::end::part, to); }

    void finish(std::string& to) {
        deflated_.flush(detail::deflater::end::whole, to);
        append_little_endian(static_cast<uint32_t>(crc_.checksum()), to);
        append_little_endian(static_cast<uint32_t>(size_), to);
    }

private:
    static void append_little_endian(uint32_t n, std::string& to) {
        for (int i = 0; i < 4; ++i) to += static_cast<char>(n >> (8 * i));
    }

    detail::deflater deflated_;
    boost::crc_32_type crc_;
    uint64_t size_ = 0;
};

bool is_compressible(std::string_view type) noexcept {
    type = detail::trimmed(type.substr(0, type.find(';')));
    const auto has_suffix = [&](std::string_view suffix) {
        return type.size() > suffix.size() && detail::same_text(type.substr(type.size() - suffix.size()), suffix);
    };
    constexpr std::string_view text = "text/";
    if (detail::same_text(type.substr(0, text.size()), text)) return !detail::same_text(type, "text/event-stream");
    constexpr std::array<std::string_view, 5> others = {"application/json", "application/javascript", "application/xml",
                                                        "application/wasm", "image/svg+xml"};
    for (const std::string_view one : others) {
        if (detail::same_text(type, one)) return true;
    }
    return has_suffix("+json") || has_suffix("+xml");
}

class compressor final : public detail::body_filter {
public:
    compressor(bool is_accepted, std::size_t size_min) noexcept : is_accepted_(is_accepted), size_min_(size_min) {}

    [[nodiscard]] bool begin(response_parts& w) override {
        if (is_active()) return true;
        if (!is_eligible(w)) return false;
        detail::add_to_vary(w.fields, "Accept-Encoding");
        if (!is_accepted_) return false;
        change_header(w);
        gzip_.emplace();
        return true;
    }

    [[nodiscard]] bool would_change(response_parts& w, uint64_t size) override {
        if (size < size_min_ || !is_eligible(w)) return false;
        detail::add_to_vary(w.fields, "Accept-Encoding");
        return is_accepted_;
    }

    void begin_without_body(response_parts& w, uint64_t size) override {
        if (would_change(w, size)) change_header(w);
    }

    [[nodiscard]] bool is_active() const noexcept override { return gzip_.has_value(); }

    void add(std::string_view data, bool is_flushed, std::string& to) override {
        begin_output(to);
        stream().add(data, to);
        if (is_flushed) stream().flush(to);
    }

    // The handler has returned.
    void finish(response_parts& w, bool is_head_request) {
        if (is_active()) {
            std::string last;
            begin_output(last);
            stream().add(w.unsent, last);
            stream().finish(last);
            w.unsent = std::move(last);
        } else if (!w.has_begun && w.unsent.size() >= size_min_ && is_eligible(w)) {
            compress_whole(w);
        } else if (is_head_request && !w.has_begun && w.unsent.empty()) {
            begin_without_body(w, announced_size(w));
        }
    }

private:
    // 0: the handler has not said it.
    static uint64_t announced_size(const response_parts& w) {
        const std::string_view text = w.fields.get("Content-Length");
        uint64_t n = 0;
        std::from_chars(text.data(), text.data() + text.size(), n);
        return n;
    }

    static bool is_eligible(const response_parts& w) {
        constexpr std::array<unsigned, 3> without = {status::no_content, status::partial_content, status::not_modified};
        for (const unsigned one : without) {
            if (w.status == one) return false;
        }
        return is_compressible(w.fields.get("Content-Type")) && !w.fields.has("Content-Encoding") &&
               !w.fields.has("Content-Range") && !w.fields.has_token("Cache-Control", "no-transform");
    }

    // The compressed content is another one than that of the strong tag.
    static void change_header(response_parts& w) {
        w.fields.set("Content-Encoding", "gzip");
        w.fields.erase("Content-Length");
        w.fields.erase("Accept-Ranges");
        const std::string_view tag = w.fields.get("ETag");
        if (tag.starts_with('"')) w.fields.set("ETag", "W/" + std::string(tag));
    }

    void compress_whole(response_parts& w) {
        detail::add_to_vary(w.fields, "Accept-Encoding");
        if (!is_accepted_) return;
        std::string all;
        gzip one;
        one.begin(all);
        one.add(w.unsent, all);
        one.finish(all);
        if (all.size() >= w.unsent.size()) return;
        change_header(w);
        w.unsent = std::move(all);
    }

    // If it is active.
    gzip& stream() noexcept {
        return *gzip_;  // NOLINT(bugprone-unchecked-optional-access)
    }

    void begin_output(std::string& to) {
        if (has_begun_) return;
        has_begun_ = true;
        stream().begin(to);
    }

    const bool is_accepted_;
    const std::size_t size_min_;
    std::optional<gzip> gzip_;
    bool has_begun_ = false;
};

// Sets the filter for the time of the call.
class filter_scope {
public:
    filter_scope(response_parts& w, detail::body_filter& f) noexcept : w_(w), outer_(w.filter) { w.filter = &f; }

    ~filter_scope() { w_.filter = outer_; }

    filter_scope(const filter_scope&) = delete;
    filter_scope& operator=(const filter_scope&) = delete;

private:
    response_parts& w_;
    detail::body_filter* const outer_;
};

}  // namespace

middleware compress(compress_options how) {
    return [how](request& r, response& w, const handler& next) {
        response_parts& parts = access::parts(w);
        if (parts.filter != nullptr) {  // compress() was added twice
            next(r, w);
            return;
        }
        compressor c(detail::accepts_coding(r.headers(), "gzip"), how.size_min);
        {
            const filter_scope set(parts, c);
            next(r, w);
        }
        c.finish(parts, r.method() == "HEAD");
    };
}

}  // namespace weft::http
