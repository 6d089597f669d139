// error.cc: the error codes of weft/postgres/error.h.
#include <string>
#include <system_error>

#include <weft/postgres/error.h>

namespace weft::postgres {

namespace {

const char* text_of(errc e) noexcept {
    switch (e) {
        case errc::bad_conninfo:
            return "the connection string is malformed: write it as for psql";
        case errc::could_not_connect:
            return "no connection: check the connection string, and that the server runs";
        case errc::connect_timed_out:
            return "no connection in time: check the address and firewalls, or raise connect_time";
        case errc::connection_lost:
            return "the connection ended before the result came: see the server's log; the statement may have been "
                   "executed";
        case errc::wrong_kind:
            return "the value is of another kind";
    }
    return nullptr;
}

class postgres_error_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "weft.postgres"; }

    [[nodiscard]] std::string message(int code) const override {
        const char* const text = text_of(static_cast<errc>(code));
        return text != nullptr ? text : "unknown error " + std::to_string(code);
    }

    [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
        switch (static_cast<errc>(code)) {
            case errc::could_not_connect:
                return std::errc::connection_refused;
            case errc::connect_timed_out:
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
    static const postgres_error_category the_category;
    return the_category;
}

}  // namespace weft::postgres
