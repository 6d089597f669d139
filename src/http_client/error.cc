// error.cc: the error codes of weft/http/client.h.
#include <string>
#include <system_error>

#include <weft/http/client.h>

namespace weft::http {

namespace {

const char* text_of(client_errc e) noexcept {
    switch (e) {
        case client_errc::bad_url:
            return "the URL cannot be used: write http:// or https://, a host, and percent-encode other characters";
        case client_errc::could_not_resolve:
            return "the name has no address: check its spelling, and this machine's name servers";
        case client_errc::could_not_connect:
            return "no connection: check the port, and that the server runs";
        case client_errc::connect_timed_out:
            return "no connection in time: check the address and firewalls, or raise connect_time";
        case client_errc::idle_timed_out:
            return "the server was silent for too long: see its log, or raise idle_time";
        case client_errc::timed_out:
            return "the request took too long: raise total_time, or set it for this request";
        case client_errc::tls_failed:
            return "the TLS handshake failed: check that the port speaks TLS, and the versions of both sides";
        case client_errc::not_trusted:
            return "the server's certificate is not trusted: check its host name and dates, or name its authority in "
                   "ca_file";
        case client_errc::connection_lost:
            return "the server ended the connection before the reply was complete: see its log";
        case client_errc::bad_reply:
            return "the server's reply is not HTTP: check the port";
        case client_errc::bad_encoding:
            return "the body cannot be decompressed: the server is faulty; set decompress to false to read it as it is";
        case client_errc::too_many_redirects:
            return "too many redirects: the server may send in a circle; see redirects_max";
        case client_errc::body_too_large:
            return "the body is larger than body_max: raise it, or read the body in parts with read_some()";
        case client_errc::proxy_failed:
            return "the proxy refused: check its address, and what it permits";
        case client_errc::client_closed:
            return "the client was destroyed during the request: let it live longer than its requests";
        case client_errc::failed:
            return "the request failed";
    }
    return nullptr;
}

class client_error_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "weft.http_client"; }

    [[nodiscard]] std::string message(int code) const override {
        const char* text = text_of(static_cast<client_errc>(code));
        return text != nullptr ? text : "unknown error " + std::to_string(code);
    }

    [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
        switch (static_cast<client_errc>(code)) {
            case client_errc::connect_timed_out:
            case client_errc::idle_timed_out:
            case client_errc::timed_out:
                return std::errc::timed_out;
            case client_errc::could_not_connect:
                return std::errc::connection_refused;
            case client_errc::connection_lost:
                return std::errc::connection_reset;
            default:
                return {code, *this};
        }
    }
};

}  // namespace

const std::error_category& client_category() noexcept {
    static const client_error_category category;
    return category;
}

}  // namespace weft::http
