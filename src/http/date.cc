// date.cc: see date.h.
#include "http/date.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>

namespace weft::http::detail {

namespace {

constexpr std::array<const char*, 7> days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 7> long_days = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};
constexpr std::array<const char*, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

using date_text = std::array<char, date_size + 1>;

void write_date(std::time_t when, date_text& to) {
    std::tm parts{};
    gmtime_r(&when, &parts);
    std::array<char, 80> longest{};
    std::snprintf(longest.data(), longest.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                  days[static_cast<unsigned>(parts.tm_wday)], parts.tm_mday,
                  months[static_cast<unsigned>(parts.tm_mon)], parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                  parts.tm_sec);
    std::copy_n(longest.begin(), to.size(), to.begin());
}

// Takes a date apart from the left. After the first mismatch every call fails.
class date_reader {
public:
    explicit date_reader(std::string_view text) noexcept : rest_(text) {}

    [[nodiscard]] bool is_good() const noexcept { return is_good_; }

    [[nodiscard]] bool is_at_end() const noexcept { return is_good_ && rest_.empty(); }

    void skip(std::string_view text) noexcept {
        is_good_ = is_good_ && rest_.starts_with(text);
        if (is_good_) rest_.remove_prefix(text.size());
    }

    template <typename Names>
    int name(const Names& names) noexcept {
        for (std::size_t i = 0; is_good_ && i < names.size(); ++i) {
            const std::string_view one = names[i];
            if (!rest_.starts_with(one)) continue;
            rest_.remove_prefix(one.size());
            return static_cast<int>(i);
        }
        is_good_ = false;
        return 0;
    }

    // A number of exactly so many digits. may_have_space: the first may be a space.
    int number(std::size_t digits, bool may_have_space = false) noexcept {
        int n = 0;
        for (std::size_t i = 0; is_good_ && i < digits; ++i) {
            const char c = i < rest_.size() ? rest_[i] : '\0';
            if (i == 0 && may_have_space && c == ' ') continue;
            is_good_ = c >= '0' && c <= '9';
            n = n * 10 + (c - '0');
        }
        if (is_good_) rest_.remove_prefix(digits);
        return n;
    }

    void time_of_day(std::tm& to) noexcept {
        to.tm_hour = number(2);
        skip(":");
        to.tm_min = number(2);
        skip(":");
        to.tm_sec = number(2);
    }

private:
    std::string_view rest_;
    bool is_good_ = true;
};

std::optional<std::time_t> time_of(const date_reader& r, std::tm parts) {
    constexpr int longest_month = 31;
    if (!r.is_at_end() || parts.tm_mday < 1 || parts.tm_mday > longest_month || parts.tm_hour > 23 ||
        parts.tm_min > 59 || parts.tm_sec > 60) {
        return std::nullopt;
    }
    return timegm(&parts);
}

std::optional<std::time_t> parse_fixdate(std::string_view text) {
    date_reader r(text);
    std::tm parts{};
    r.name(days);
    r.skip(", ");
    parts.tm_mday = r.number(2);
    r.skip(" ");
    parts.tm_mon = r.name(months);
    r.skip(" ");
    parts.tm_year = r.number(4) - 1900;
    r.skip(" ");
    r.time_of_day(parts);
    r.skip(" GMT");
    return time_of(r, parts);
}

std::optional<std::time_t> parse_rfc850(std::string_view text) {
    date_reader r(text);
    std::tm parts{};
    r.name(long_days);
    r.skip(", ");
    parts.tm_mday = r.number(2);
    r.skip("-");
    parts.tm_mon = r.name(months);
    r.skip("-");
    parts.tm_year = r.number(2);
    r.skip(" ");
    r.time_of_day(parts);
    r.skip(" GMT");
    const std::time_t now = std::time(nullptr);
    std::tm today{};
    gmtime_r(&now, &today);
    parts.tm_year += today.tm_year / 100 * 100;
    if (parts.tm_year > today.tm_year + 50) parts.tm_year -= 100;
    return time_of(r, parts);
}

std::optional<std::time_t> parse_asctime(std::string_view text) {
    date_reader r(text);
    std::tm parts{};
    r.name(days);
    r.skip(" ");
    parts.tm_mon = r.name(months);
    r.skip(" ");
    parts.tm_mday = r.number(2, true);
    r.skip(" ");
    r.time_of_day(parts);
    r.skip(" ");
    parts.tm_year = r.number(4) - 1900;
    return time_of(r, parts);
}

}  // namespace

std::string http_date(std::time_t when) {
    date_text text{};
    write_date(when, text);
    return {text.data(), date_size};
}

std::optional<std::time_t> parse_http_date(std::string_view text) {
    if (const auto when = parse_fixdate(text)) return when;
    if (const auto when = parse_rfc850(text)) return when;
    return parse_asctime(text);
}

std::string_view date_cache::now() {
    const std::time_t second = std::time(nullptr);
    if (second != second_) {
        second_ = second;
        write_date(second, text_);
    }
    return {text_.data(), date_size};
}

}  // namespace weft::http::detail
