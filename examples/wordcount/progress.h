// progress.h: one line that says how far we are, rewritten ten times a second. Only on a terminal.
//
// The line is written by a plain std::thread, the same for everything that is measured, so that none of it pays more.
//
// Who: add_ by any thread; the rest by the owner.
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
    // Writes to stderr, if that is a terminal and quiet is not set.
    explicit progress(bool quiet);
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress();

    // From now on, what is going on. How many bytes there will be, if that is known.
    void begin(std::string what, std::uint64_t bytes_expected = 0);

    void add_file() noexcept { files_.fetch_add(1, std::memory_order_relaxed); }

    void add_bytes(std::uint64_t n) noexcept { bytes_.fetch_add(n, std::memory_order_relaxed); }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

    // Takes the line away.
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
    std::thread writer_;                // not started unless there is a terminal
};

}  // namespace wordcount
