// error.cc: the error codes of weft.
#include <string>
#include <system_error>

#include <weft/chan.h>
#include <weft/error.h>

namespace weft {

namespace {

class weft_category final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "weft"; }

    [[nodiscard]] std::string message(int code) const override {
        switch (static_cast<errc>(code)) {
            case errc::cancelled:
                return "cancelled";
            case errc::timed_out:
                return "deadline passed";
            case errc::channel_closed:
                return "channel closed";
            case errc::closed:
                return "closed by this program";
        }
        return "unknown error " + std::to_string(code);
    }

    [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
        switch (static_cast<errc>(code)) {
            case errc::cancelled:
                return std::errc::operation_canceled;
            case errc::timed_out:
                return std::errc::timed_out;
            case errc::channel_closed:
                return std::errc::broken_pipe;
            case errc::closed:
                return std::errc::bad_file_descriptor;
        }
        return {code, *this};
    }
};

}  // namespace

const std::error_category& error_category() noexcept {
    static const weft_category category;
    return category;
}

namespace detail {

std::error_code error_of(chan_status status, wait_result interrupted) noexcept {
    if (status == chan_status::ok) return {};
    if (status == chan_status::closed) return errc::channel_closed;
    return interrupted == wait_result::cancelled ? errc::cancelled : errc::timed_out;
}

}  // namespace detail

}  // namespace weft
