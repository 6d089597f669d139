// command.cc: see weft/redis/command.h.
#include <weft/redis/command.h>

namespace weft::redis {

void command::append(std::string_view a) {
    parts_ += '$';
    parts_ += std::to_string(a.size());
    parts_ += "\r\n";
    parts_ += a;
    parts_ += "\r\n";
    ++count_;
}

std::string_view command::name() const noexcept {
    const std::string_view all = parts_;
    const std::size_t begin = all.find('\n') + 1;
    std::size_t size = 0;
    for (const char digit : all.substr(1, begin - 3)) size = size * 10 + static_cast<std::size_t>(digit - '0');
    return all.substr(begin, size);
}

void command::write_to(std::string& out) const {
    out += '*';
    out += std::to_string(count_);
    out += "\r\n";
    out += parts_;
}

}  // namespace weft::redis
