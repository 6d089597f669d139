#include "access_log.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string_view>
#include <system_error>

namespace http_server {

namespace {

constexpr std::size_t lines_ahead = 4096;
constexpr std::size_t written_at_a_time = std::size_t{64} * 1024;
constexpr std::size_t longest_request_line = 1024;

weft::fs::file open_log(const std::string& path) {
    if (path.empty()) return {};
    if (path != "-") return weft::fs::file(path, {.mode = weft::fs::access::write, .create = true, .append = true});
    const int fd = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "stdout");
    return weft::fs::file::adopt(fd, "stdout");
}

// "06/Nov/1994:08:49:37 +0000". The program keeps the locale "C", so months are English.
std::string log_date(std::time_t when) {
    std::tm parts{};
    std::array<char, 64> text{};
    gmtime_r(&when, &parts);
    return {text.data(), std::strftime(text.data(), text.size(), "%d/%b/%Y:%H:%M:%S +0000", &parts)};
}

// Client data may contain any byte. Quotes, backslashes, control characters and bytes beyond ASCII
// are escaped, so that one entry stays one line.
void append_escaped(std::string& line, std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    for (const char c : text.substr(0, longest_request_line)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\') {
            line += c;
        } else {
            line += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
        }
    }
}

}  // namespace

access_log::access_log(const std::string& path) : file_(open_log(path)), lines_(lines_ahead) {
    if (is_on()) writer_.go([this] { write_lines(); });
}

access_log::~access_log() {
    lines_.close();
    writer_.wait();
}

void access_log::line(const weft::http::access_entry& entry) {
    std::string text(entry.peer.substr(0, entry.peer.rfind(':')));  // without the port
    ((text += " - - [") += log_date(std::time(nullptr))) += "] \"";
    append_escaped(text, entry.request_line);
    ((((text += "\" ") += std::to_string(entry.status)) += ' ') += std::to_string(entry.body_bytes)) += '\n';
    if (lines_.try_send(std::move(text)) != weft::chan_status::ok) ++lines_lost_;
}

// Writes all lines that are available at once.
void access_log::write_lines() {
    bool complained = false;
    while (std::optional<std::string> batch = lines_.recv()) {
        while (batch->size() < written_at_a_time) {
            const auto more = lines_.try_recv();
            if (!more) break;
            *batch += *more;
        }
        std::error_code ec;
        file_.write_all(*batch, ec);
        if (ec && !complained) {
            complained = true;
            std::fprintf(stderr, "http_server: cannot write the access log: %s\n", ec.message().c_str());
        }
    }
}

}  // namespace http_server
