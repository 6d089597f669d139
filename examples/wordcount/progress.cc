#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "text_format.h"

namespace wordcount {

namespace {

constexpr std::chrono::milliseconds interval{100};
constexpr const char* clear_line = "\r\033[K";

std::size_t terminal_width() noexcept {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

progress::progress(bool quiet) {
    if (!quiet && isatty(STDERR_FILENO) != 0) writer_ = std::thread([this] { run(); });
}

progress::~progress() {
    end();
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (writer_.joinable()) writer_.join();
}

void progress::begin(std::string what, std::uint64_t bytes_expected) {
    const std::lock_guard lock(mutex_);
    files_.store(0, std::memory_order_relaxed);
    bytes_.store(0, std::memory_order_relaxed);
    what_ = std::move(what);
    bytes_expected_ = bytes_expected;
}

void progress::end() {
    const std::lock_guard lock(mutex_);
    what_.clear();
    if (std::exchange(on_screen_, false)) std::fputs(clear_line, stderr);
}

void progress::run() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, interval, [this] { return stop_; })) {
        if (what_.empty()) continue;
        std::string text = line();
        if (const std::size_t most = terminal_width() - 1; text.size() > most) text.resize(most);
        std::fprintf(stderr, "%s%s", clear_line, text.c_str());
        std::fflush(stderr);
        on_screen_ = true;
    }
}

std::string progress::line() const {
    std::string text = what_;
    const std::uint64_t read = bytes();
    if (read == 0) return text;
    text += ": " + with_commas(files_.load(std::memory_order_relaxed)) + " files, " + in_megabytes(read);
    if (bytes_expected_ != 0) text += " (" + std::to_string(read * 100 / bytes_expected_) + " %)";
    return text;
}

}  // namespace wordcount
