#include "message.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <stdexcept>

#include <weft/cancel.h>

namespace raft {

namespace {

constexpr uint64_t longest = 16 << 20;

// Appends fields to bytes, or takes them from there; numbers are in the order of the machine.
struct codec {
    std::string bytes{};
    bool takes = false;
    std::size_t at = 0;

    void operator()(auto&... each) { (field(each), ...); }

    void pass(void* data, std::size_t size) {
        if (!takes) {
            bytes.append(static_cast<char*>(data), size);
        } else if (bytes.size() - at < size) {
            throw std::runtime_error("a message is too short");
        } else {
            at += bytes.copy(static_cast<char*>(data), size, at);
        }
    }

    void field(uint64_t& n) { pass(&n, sizeof n); }

    void field(kind& k) { pass(&k, sizeof k); }

    void field(std::string& text) {
        uint64_t size = text.size();
        field(size);
        text.resize(std::min(size, longest));
        pass(text.data(), text.size());
    }

    void field(std::vector<entry>& entries) {
        uint64_t size = entries.size();
        field(size);
        for (uint64_t i = 0; i < size; ++i) (takes ? entries.emplace_back() : entries[i]).fields(*this);
    }
};

std::string read(weft::net::tcp_stream& from, uint64_t size) {
    if (size > longest) throw std::runtime_error("a message is too long");
    std::string bytes(size, '\0');
    if (from.read(bytes) != size) throw std::runtime_error("the peer has closed the connection");
    return bytes;
}

}  // namespace

void send(weft::net::tcp_stream& to, message m) {
    codec body;
    m.fields(body);
    codec framed;  // the size in front
    framed.field(body.bytes);
    to.write_all(framed.bytes);
}

message receive(weft::net::tcp_stream& from) {
    uint64_t size = 0;
    codec{read(from, sizeof size), true}.field(size);
    message m;
    codec body{read(from, size), true};
    m.fields(body);
    return m;
}

std::optional<message> link::call(const message& m, std::chrono::milliseconds limit) {
    try {
        return weft::with_timeout(limit, [&] {
            if (!stream_.is_open()) stream_ = weft::net::tcp_stream::connect(node_);
            send(stream_, m);
            return receive(stream_);
        });
    } catch (const weft::timed_out&) {
    } catch (const std::exception&) {}  // the connection is refused or lost
    stream_.close();
    weft::throw_if_cancelled();  // the deadline may be that of a caller
    return std::nullopt;
}

}  // namespace raft
