// transfer.h: one request on the wire and its reply. The meeting place of the caller, which is a
// green thread of the program, and the driver, which calls libcurl.
//
//   caller: set up ──▶ mailbox ──▶ driver: libcurl ──on_field, on_body──▶ fields, input ──▶ caller
//                                                  ◀──on_upload────────── output       ◀── caller
//
// Back-pressure. on_body() refuses data while input is full: libcurl keeps that piece, stops to
// read from the socket, and the kernel's window closes. The caller that has read half of input has
// the transfer resumed. Uploads go the other way: on_upload() pauses while output is empty, and
// wakes the caller, which fills it. So code of the user (body_from) runs in the caller's green
// thread only, and never in the driver's.
//
// Invariants: I1. easy is used by the caller before start(), then by the driver until it resets it.
//             I2. After is_done no call of libcurl refers to this object.
// Locks:      lock. Held for short: libcurl's callbacks take it in the driver.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>

#include <weft/condition_variable.h>
#include <weft/http/headers.h>
#include <weft/mutex.h>

#include "http_client/curl.h"

namespace weft::http::detail {

class transfer;

// Limits of one wait of a caller, in nanoseconds.
struct wait_limits {
    int64_t deadline_ns;
    int64_t idle_ns;
};

// What a caller wants of the driver.
struct wanted {
    bool start = false;
    bool resume = false;
    bool abandon = false;
};

// A transfer's place in a mailbox. Guarded by the mailbox's lock.
struct place_in_mailbox {
    std::shared_ptr<transfer> next;
    bool is_queued = false;
    wanted marks;
};

class transfer : public std::enable_shared_from_this<transfer> {
public:
    explicit transfer(std::size_t buffer_size) : buffer_size_(buffer_size) {}

    transfer(const transfer&) = delete;
    transfer& operator=(const transfer&) = delete;

    // The caller before the start, then the driver.
    easy_handle easy;
    field_list fields_sent;
    std::shared_ptr<const std::string> body;
    std::array<char, CURL_ERROR_SIZE> error_text{};

    place_in_mailbox orders;

    // ---- The driver. on_…: within calls of libcurl.

    void on_field(std::string_view line);
    // Returns false if libcurl must offer it again later.
    [[nodiscard]] bool on_body(std::string_view piece);
    // Returns the number of bytes, or CURL_READFUNC_PAUSE.
    [[nodiscard]] std::size_t on_upload(char* to, std::size_t room);
    void on_connected();
    void on_progress(uint64_t bytes);
    // Before libcurl is told to go on.
    void will_resume();
    void finish(std::error_code why, std::string words) noexcept;

    // ---- The caller.

    // All below are guarded by it.
    weft::mutex lock;

    // Waits until is_ready() holds. Returns an error if a limit passes first. A cancellation point.
    template <typename Ready>
    [[nodiscard]] std::error_code wait(std::unique_lock<weft::mutex>& held, const wait_limits& limits, Ready is_ready);

    // Takes up to room bytes of the body; sets must_resume if the mailbox must be told so.
    [[nodiscard]] std::size_t take(void* to, std::size_t room, bool& must_resume);

    [[nodiscard]] std::size_t available() const noexcept { return input_.size() - input_at_; }

    [[nodiscard]] bool wants_output() const noexcept { return is_sending_paused_ && !is_done; }

    // The next part of an upload; empty: its end.
    void give(std::string_view part);

    bool is_head_complete = false;
    bool is_output_ended = false;
    bool is_done = false;
    bool is_discarding = false;  // the body is dropped
    unsigned status = 0;
    unsigned version = 0;
    http::headers fields;
    std::error_code error;  // valid once done
    std::string words;      // libcurl's, for error

private:
    void on_status_line(std::string_view line);

    [[nodiscard]] int64_t limit_of(const wait_limits& limits, int64_t idle_since_ns) const noexcept;

    const std::size_t buffer_size_;
    weft::condition_variable changed_;
    bool is_connected_ = false;
    bool is_receiving_paused_ = false;
    bool is_sending_paused_ = false;
    uint64_t events_ = 0;  // grows with each sign of life of the server
    uint64_t bytes_ = 0;
    std::string input_;
    std::size_t input_at_ = 0;
    std::string output_;
    std::size_t output_at_ = 0;
};

template <typename Ready>
std::error_code transfer::wait(std::unique_lock<weft::mutex>& held, const wait_limits& limits, Ready is_ready) {
    int64_t idle_since_ns = weft::detail::now_ns();
    uint64_t seen = events_;
    while (!is_ready()) {
        const int64_t limit_ns = limit_of(limits, idle_since_ns);
        if (limit_ns <= weft::detail::now_ns())
            return limit_ns == limits.deadline_ns ? client_errc::timed_out : client_errc::idle_timed_out;
        static_cast<void>(
            changed_.wait_until(held, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(limit_ns))));
        if (events_ != seen) {
            seen = events_;
            idle_since_ns = weft::detail::now_ns();
        }
    }
    return {};
}

}  // namespace weft::http::detail
