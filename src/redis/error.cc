// error.cc: the error codes of weft/redis/error.h.
#include <string>
#include <system_error>

#include <weft/redis/error.h>

namespace weft::redis {

namespace {

const char* text_of(errc e) noexcept {
    switch (e) {
        case errc::could_not_connect:
            return "no connection: check the address, and that the server runs";
        case errc::connect_timed_out:
            return "no connection in time: check the address and firewalls, or raise connect_time";
        case errc::login_refused:
            return "the server refused the login: check user, password and database";
        case errc::connection_lost:
            return "the connection ended before the reply came: see the server's log; the command may have been "
                   "executed";
        case errc::reply_timed_out:
            return "no reply in time: raise reply_time if the server is only slow; the command may have been executed";
        case errc::bad_reply:
            return "the reply is not of the Redis protocol: check the port";
        case errc::wrong_kind:
            return "the reply is of another kind";
    }
    return nullptr;
}

class redis_error_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "weft.redis"; }

    [[nodiscard]] std::string message(int code) const override {
        const char* const text = text_of(static_cast<errc>(code));
        return text != nullptr ? text : "unknown error " + std::to_string(code);
    }

    [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
        switch (static_cast<errc>(code)) {
            case errc::could_not_connect:
                return std::errc::connection_refused;
            case errc::connect_timed_out:
            case errc::reply_timed_out:
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
    static const redis_error_category the_category;
    return the_category;
}

}  // namespace weft::redis
