// watchdog.h: ends a hanging test with a report.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace weft::test {

// While one exists, its OS thread watches the clock. After limit, the process prints what was
// watched, calls report, and aborts.
class watchdog {
public:
    watchdog(std::string what, std::chrono::seconds limit, std::function<void()> report);
    ~watchdog();

    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

private:
    void watch(std::chrono::seconds limit);

    const std::string what_;
    const std::function<void()> report_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;  // guarded by mutex_
    std::thread thread_;
};

}  // namespace weft::test
