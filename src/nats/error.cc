// error.cc: the error codes of weft/nats/error.h.
#include <string>
#include <system_error>

#include <weft/nats/error.h>

namespace weft::nats {

namespace {

const char* text_of(errc e) noexcept {
    switch (e) {
        case errc::could_not_connect:
            return "no connection: check the addresses, and that a server runs";
        case errc::login_refused:
            return "the server refused the login: check user, password, token and credentials";
        case errc::connection_lost:
            return "the connection ended before the answer came: the request may have been handled";
        case errc::buffer_full:
            return "there is no connection, and no room to keep messages: publish less, or raise reconnect_buffer";
        case errc::no_responders:
            return "nothing answers to that subject: check its spelling, and that the service runs";
        case errc::request_timed_out:
            return "no answer in time: raise request_time if the service is only slow; the request may have been "
                   "handled";
        case errc::bad_subject:
            return "the subject is malformed: write words with dots between them, without blanks";
        case errc::too_large:
            return "the message is larger than the server accepts: see its max_payload";
        case errc::bad_answer:
            return "the answer of JetStream cannot be read";
        case errc::client_closed:
            return "the client was closed";
        case errc::failed:
            return "the call failed";
    }
    return nullptr;
}

class nats_error_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "weft.nats"; }

    [[nodiscard]] std::string message(int code) const override {
        const char* const text = text_of(static_cast<errc>(code));
        return text != nullptr ? text : "unknown error " + std::to_string(code);
    }

    [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
        switch (static_cast<errc>(code)) {
            case errc::could_not_connect:
                return std::errc::connection_refused;
            case errc::request_timed_out:
                return std::errc::timed_out;
            case errc::connection_lost:
                return std::errc::connection_reset;
            default:
                return {code, *this};
        }
    }
};

}  // namespace

const std::error_category& error_category() noexcept {
    static const nats_error_category the_category;
    return the_category;
}

}  // namespace weft::nats
