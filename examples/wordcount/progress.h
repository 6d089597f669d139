// progress.h: a progress line on the terminal, rewritten ten times a second.
//
// The same plain std::thread writes it for everything that is measured, so that it costs each the
// same.
//
// Threads: add_ functions by any thread; the rest by the owner.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace wordcount {

class progress {
public:
    // Writes to stderr if that is a terminal and quiet is not set.
    explicit progress(bool quiet);
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress();

    // Starts a new step. bytes_expected is the number of bytes that it will process, if known.
    void begin(std::string what, std::uint64_t bytes_expected = 0);

    void add_file() noexcept { files_.fetch_add(1, std::memory_order_relaxed); }

    void add_bytes(std::uint64_t n) noexcept { bytes_.fetch_add(n, std::memory_order_relaxed); }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

    // Removes the line.
    void end();

private:
    void run();
    [[nodiscard]] std::string line() const;  // requires mutex_

    std::atomic<std::uint64_t> files_{0};
    std::atomic<std::uint64_t> bytes_{0};

    std::mutex mutex_;
    std::condition_variable changed_;
    std::string what_;                  // guarded by mutex_; empty: show nothing
    std::uint64_t bytes_expected_ = 0;  // guarded by mutex_
    bool stop_ = false;                 // guarded by mutex_
    bool on_screen_ = false;            // guarded by mutex_
    std::thread writer_;                // started only on a terminal
};

}  // namespace wordcount
