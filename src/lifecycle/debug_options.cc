// debug_options.cc: see debug_options.h.
#include "lifecycle/debug_options.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/assert.h"
#include "base/prng.h"
#include "os/os.h"
#include "os/signals.h"

namespace weft::detail {

namespace {

// Short enough to type.
uint64_t fresh_seed() noexcept {
    return prng(static_cast<uint64_t>(os::monotonic_ns()) ^ static_cast<uint64_t>(os::current_tid())).below(1'000'000);
}

std::optional<uint64_t> parse_number(std::string_view text) noexcept {
    uint64_t value = 0;
    const char* begin = text.data();
    const char* end = begin + text.size();
    const auto result = std::from_chars(begin, end, value);
    if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
    return value;
}

// word is key=0 or key=1; at: where the key ends.
void parse_switch(std::string_view word, std::size_t at, bool& on) noexcept {
    const std::string_view value = at == std::string_view::npos ? "" : word.substr(at + 1);
    if (value == "0" || value == "1") {
        on = value == "1";
        return;
    }
    warn("RUN_DEBUG: \"%.*s\" is ignored: the value must be 0 or 1", static_cast<int>(word.size()), word.data());
}

void parse_retake(std::string_view word, std::size_t at, debug_options& options) noexcept {
    options.retake_always = at != std::string_view::npos && word.substr(at + 1) == "always";
    if (options.retake_always) {
        options.retake = true;
    } else {
        parse_switch(word, at, options.retake);
    }
}

// word is key=milliseconds.
void parse_period(std::string_view word, std::size_t at, uint32_t& ms) noexcept {
    constexpr uint64_t longest_ms = 86'400'000;
    const auto number = at == std::string_view::npos ? std::nullopt : parse_number(word.substr(at + 1));
    if (number && *number <= longest_ms) {
        ms = static_cast<uint32_t>(*number);
        return;
    }
    warn("RUN_DEBUG: \"%.*s\" is ignored: the value must be a number of milliseconds, up to 86400000 (a day)",
         static_cast<int>(word.size()), word.data());
}

void parse_signal(std::string_view word, std::size_t at, int& signal) noexcept {
    const int number = at == std::string_view::npos ? 0 : os::signal_number(word.substr(at + 1));
    if (number != 0) {
        signal = number;
        return;
    }
    warn("RUN_DEBUG: \"%.*s\" is ignored: the value must be a signal that can be handled, for example QUIT",
         static_cast<int>(word.size()), word.data());
}

void parse_deadlock(std::string_view word, std::size_t at, deadlock_search& search) noexcept {
    if (at != std::string_view::npos && word.substr(at + 1) == "strict") {
        search = deadlock_search::strict;
        return;
    }
    bool on = search != deadlock_search::off;
    parse_switch(word, at, on);
    search = on ? deadlock_search::on : deadlock_search::off;
}

void parse_random(std::string_view word, std::size_t at, debug_options& options) noexcept {
    if (at == std::string_view::npos) {
        options.random_seed = fresh_seed();
        return;
    }
    const std::string_view value = word.substr(at + 1);
    const auto seed = parse_number(value);
    if (!seed) {
        warn("RUN_DEBUG: random=\"%.*s\" is ignored: the value must be a number", static_cast<int>(value.size()),
             value.data());
        return;
    }
    options.random_seed = seed;
}

void parse_frames(std::string_view word, std::size_t at, debug_options& options) noexcept {
    options.all_frames = at != std::string_view::npos && word.substr(at + 1) == "all";
    if (options.all_frames) return;
    warn("RUN_DEBUG: \"%.*s\" is ignored: the value must be all", static_cast<int>(word.size()), word.data());
}

void parse_tsan(std::string_view word, std::size_t at, debug_options& options) noexcept {
    options.tsan_green_threads = at != std::string_view::npos && word.substr(at + 1) == "green_threads";
    if (options.tsan_green_threads) return;
    warn("RUN_DEBUG: \"%.*s\" is ignored: the value must be green_threads", static_cast<int>(word.size()), word.data());
}

void parse_fail(std::string_view word, std::size_t at, debug_options& options) noexcept {
    os::failure_rule rule;
    const char* wrong = os::parse_failure(at == std::string_view::npos ? "" : word.substr(at + 1), rule);
    if (wrong == nullptr && options.failure_count == options.failures.size()) wrong = "there are 16 already";
    if (wrong == nullptr) {
        options.failures[options.failure_count++] = rule;
        return;
    }
    warn("RUN_DEBUG: \"%.*s\" is ignored: %s; write fail=accept4:3:EMFILE", static_cast<int>(word.size()), word.data(),
         wrong);
}

void parse_word(std::string_view word, debug_options& options) noexcept {
    const std::size_t at = word.find('=');
    const std::string_view key = word.substr(0, at);
    if (key == "random") return parse_random(word, at, options);
    if (key == "retake") return parse_retake(word, at, options);
    if (key == "placement") return parse_switch(word, at, options.placement);
    if (key == "stack_use") return parse_switch(word, at, options.stack_use);
    if (key == "schedtrace") return parse_period(word, at, options.trace_ms);
    if (key == "scheddetail") return parse_switch(word, at, options.trace_detail);
    if (key == "dumpsignal") return parse_signal(word, at, options.dump_signal);
    if (key == "watchdog") return parse_period(word, at, options.watchdog_ms);
    if (key == "deadlock") return parse_deadlock(word, at, options.deadlock);
    if (key == "lockowners") return parse_switch(word, at, options.lock_owners);
    if (key == "symbols") return parse_switch(word, at, options.symbols);
    if (key == "frames") return parse_frames(word, at, options);
    if (key == "tsan") return parse_tsan(word, at, options);
    if (key == "fail") return parse_fail(word, at, options);
    if (key == "sanitizer") return parse_switch(word, at, options.check_sanitizer);
    warn(
        "RUN_DEBUG: \"%.*s\" is unknown and ignored; known: random, random=SEED, retake=0, retake=always, placement=0, "
        "stack_use=1, schedtrace=MS, scheddetail=1, dumpsignal=NAME, watchdog=MS, deadlock=0, deadlock=strict, "
        "lockowners=1, symbols=0, frames=all, tsan=green_threads, sanitizer=0, fail=CALL:N:ERROR",
        static_cast<int>(key.size()), key.data());
}

}  // namespace

debug_options parse_debug_options(const char* text) noexcept {
    debug_options options;
    std::string_view rest = text == nullptr ? "" : text;
    while (!rest.empty()) {
        const std::size_t end = rest.find(',');
        const std::string_view word = rest.substr(0, end);
        if (!word.empty()) parse_word(word, options);
        rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
    }
    return options;
}

debug_options read_debug_options() noexcept {
    const debug_options options = parse_debug_options(os::read_env("RUN_DEBUG").text);
    if (options.random_seed) {
        const auto seed = static_cast<unsigned long long>(*options.random_seed);
        warn("the scheduling order is random; to repeat it: RUN_DEBUG=random=%llu", seed);
    }
    os::arm_failures({options.failures.data(), options.failure_count});
    return options;
}

}  // namespace weft::detail
