// test_runtimes.h: the runtimes that a test has started in its simulation.
//
// Threads: the simulation's M.
// See:     src/sched/simulated_runtimes.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <weft/runtime.h>
#include <weft/wait_group.h>

#include "sched/simulated_runtimes.h"

namespace weft::sim {

class controlled_run;

class test_runtimes final : public weft::detail::simulated_runtimes {
public:
    explicit test_runtimes(controlled_run& run) : run_(run) {}

    // Begins again, with none.
    void clear();

    // A green thread that was made. number, starter: its number, and that of the green thread that
    // starts it; 0: the driver.
    void place(weft::detail::G& g, uint32_t number, uint32_t starter);
    // It has ended.
    void ended(uint32_t number) noexcept;

    // Whether that green thread must never run again.
    [[nodiscard]] bool is_abandoned(uint32_t number) const noexcept {
        return number < of_.size() && of_[number].abandoned;
    }

    // Green threads of this schedule that have been abandoned.
    [[nodiscard]] uint64_t abandoned() const noexcept { return abandoned_; }

    // Whether shutdown() has begun to end that green thread's runtime.
    [[nodiscard]] bool is_stopping(uint32_t number) const noexcept { return account_of(number).stopping; }

    // The end of a schedule. Returns how many still run. They are runtimes without a scheduler
    // from here on.
    std::size_t forget() noexcept;

    void start(const runtime& r, weft::detail::atomic<weft::detail::scheduler*>& place, unsigned procs) override;
    [[nodiscard]] bool has(const runtime& r) const noexcept override;
    [[nodiscard]] bool stops_caller() const noexcept override;
    [[nodiscard]] bool holds_caller(const runtime& r) const noexcept override;
    void choose(const runtime& r) override;
    void starts(const weft::detail::G& g) override;
    void run_main(const runtime_options& options, void (*body)(void*), void* closure, source_location where) override;
    void looks_at(const runtime& r) const noexcept override;
    void drain(const runtime& r) override;
    [[nodiscard]] std::optional<stop_outcome> stop(const runtime& r, int64_t deadline_ns) override;
    [[nodiscard]] std::optional<std::size_t> abandon(const runtime& r) override;
    [[nodiscard]] unsigned procs(const runtime* r) const noexcept override;
    unsigned change_procs(const runtime* r, unsigned n) noexcept override;
    void count(const runtime* r, stats_snapshot& all) const noexcept override;

private:
    struct account {
        const runtime* of = nullptr;  // nullptr: it has ended, or this is for green threads of none
        weft::detail::atomic<weft::detail::scheduler*>* place = nullptr;
        unsigned procs = 1;
        uint64_t started = 0;
        uint64_t ended = 0;
        bool stopping = false;
        std::vector<wait_group*> drains;  // of waits for the end of its green threads

        [[nodiscard]] uint64_t live() const noexcept { return started - ended; }
    };

    struct member {
        weft::detail::G* g = nullptr;  // nullptr: it has ended, or does not exist
        uint32_t account = 0;          // an index into all_
        bool abandoned = false;
    };

    [[nodiscard]] const account& account_of(uint32_t number) const noexcept;
    [[nodiscard]] uint32_t caller() const noexcept;
    [[nodiscard]] uint32_t index_of(const runtime& r) const noexcept;  // 0: it has none
    [[nodiscard]] account& of_runtime(const runtime* r) noexcept;
    [[nodiscard]] const account& of_runtime(const runtime* r) const noexcept;
    [[nodiscard]] uint64_t runnable(const account& a) const noexcept;
    void wait_until_empty(account& a, int64_t deadline_ns);
    std::size_t cancel_waits(uint32_t index);
    std::size_t abandon_members(uint32_t index);
    void set_cancelling(bool any) noexcept;

    controlled_run& run_;
    std::deque<account> all_;                               // the first one: of green threads of no runtime
    std::unordered_map<const runtime*, uint32_t> indices_;  // into all_, of those that run
    std::vector<member> of_;                                // by number
    uint64_t abandoned_ = 0;
    uint32_t stopping_ = 0;                                // accounts that are being shut down
    std::vector<uint32_t> chosen_;                         // by number: what it starts next is of that one
    std::vector<std::pair<uint64_t, uint32_t>> starting_;  // ids of green threads that are about to be placed
};

}  // namespace weft::sim
