#include "transport.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

namespace http_server {

namespace {

constexpr std::size_t encrypted_at_a_time = std::size_t{64} * 1024;

template <typename Stream>
std::size_t send_part(Stream& to, weft::fs::file& file, uint64_t offset, std::size_t size, std::error_code& ec) {
    if constexpr (requires { to.sendfile(0, 0, size, ec); }) {
        return to.sendfile(file.native_handle(), static_cast<int64_t>(offset), size, ec);
    } else {
        std::vector<char> piece(std::min(size, encrypted_at_a_time));
        std::size_t sent = 0;
        while (sent < size && !ec) {
            const std::size_t wanted = std::min(size - sent, piece.size());
            const std::size_t n = file.pread({piece.data(), wanted}, static_cast<int64_t>(offset + sent), ec);
            if (ec || n == 0) break;
            sent += to.write_all({piece.data(), n}, ec);
        }
        return sent;
    }
}

}  // namespace

void transport::handshake(std::error_code& ec) {
    std::visit(
        [&](auto& s) {
            if constexpr (requires { s.handshake(ec); }) s.handshake(ec);
        },
        stream_);
}

std::size_t transport::read_some(weft::net::mutable_buffer b, std::error_code& ec) {
    return std::visit([&](auto& s) { return s.read_some(b, ec); }, stream_);
}

std::size_t transport::writev_all(std::span<const weft::net::const_buffer> from, std::error_code& ec) {
    return std::visit([&](auto& s) { return s.writev_all(from, ec); }, stream_);
}

std::size_t transport::send_file(weft::fs::file& file, uint64_t offset, std::size_t size, std::error_code& ec) {
    return std::visit([&](auto& s) { return send_part(s, file, offset, size, ec); }, stream_);
}

void transport::shutdown_send(std::error_code& ec) {
    std::visit([&](auto& s) { s.shutdown_send(ec); }, stream_);
}

void transport::close() noexcept {
    std::visit([](auto& s) { s.close(); }, stream_);
}

void transport::set_read_time(std::chrono::milliseconds time) {
    std::visit([&](auto& s) { s.set_read_deadline(std::chrono::steady_clock::now() + time); }, stream_);
}

void transport::set_write_time(std::chrono::milliseconds time) {
    std::visit([&](auto& s) { s.set_write_deadline(std::chrono::steady_clock::now() + time); }, stream_);
}

#if WITH_WEFT_TLS

security::security(const std::string& certificate_file, const std::string& key_file) : is_on_(true) {
    try {
        const auto own = weft::tls::certificate::from_files(certificate_file, key_file);
        context_ = std::make_unique<const weft::tls::context>(
            weft::tls::context::server({.own = {own}, .protocols = {"http/1.1"}}));
    } catch (const std::system_error& e) {
        throw std::runtime_error("cannot use " + certificate_file + " with " + key_file + ": " + e.what());
    }
}

transport security::wrap(weft::net::tcp_stream accepted) const {
    if (!is_on_) return transport(std::move(accepted));
    return transport(weft::tls::stream::server(std::move(accepted), *context_));
}

#else

security::security(const std::string& /*certificate_file*/, const std::string& /*key_file*/) {
    throw std::runtime_error("this http_server was built without TLS: install libssl-dev, and build weft again");
}

transport security::wrap(weft::net::tcp_stream accepted) const { return transport(std::move(accepted)); }

#endif

}  // namespace http_server
