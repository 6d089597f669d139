// controlled_run.h: one schedule: the decisions of a test from its start to its end.
//
// Threads: the simulated runtime's M.
// See:     docs/sim.md, src/sched/simulation.h
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include <weft/sim/shared.h>
#include <weft/sim/sim.h>

#include "sched/simulation.h"
#include "sim/fairness.h"
#include "sim/lock_order.h"
#include "sim/order.h"
#include "sim/schedule_text.h"
#include "sim/simulated_network.h"
#include "sim/step_watch.h"
#include "sim/strategies.h"
#include "sim/test_runtimes.h"

namespace weft::sim {

// The time at which a schedule begins: 2000-01-01, as in Go's synctest.
inline constexpr int64_t begin_ns = 946'684'800'000'000'000;

// For the text of a failure: a green thread's name, and where it was started.
struct g_record {
    std::string name;  // empty: it has none
    std::string started;
};

// A step of that text.
struct step_record {
    uint32_t g;
    weft::detail::operation what;
    const void* object;
    bool deviates;  // another one would run by default
    int64_t at_ns;
    std::string note{};                 // not empty: an event, and not a step of a green thread
    candidate instead{};                // if it deviates: what would run by default
    std::vector<const void*> frames{};  // where it begins, or where it has waited
};

class controlled_run final : public weft::detail::simulation {
public:
    struct limits {
        uint64_t max_steps;
        bool before_operations;
        int64_t lateness_ns;
        bool lock_order;        // inversion() is wanted
        uint64_t longest_wait;  // in steps; 0: any number
        step_watch* watch;
    };

    explicit controlled_run(const limits& within)
        : limits_(within),
          network_(*this),
          runtimes_(*this),
          keeps_order_(detail::has_shared_values()),
          keeps_locks_(within.lock_order) {}

    controlled_run(const controlled_run&) = delete;
    controlled_run& operator=(const controlled_run&) = delete;
    ~controlled_run();

    enum class kept : uint8_t { nothing, steps, steps_and_frames };

    // The next schedule is chosen by `by`, or, if that is nullptr, is `replayed`. What it keeps is
    // for texts.
    void begin(chooser* by, const schedule* replayed, kept keeps);

    // Runs body as the first green thread, until nothing can run any longer. Caller: a G of the
    // simulated runtime that is not simulated itself.
    void execute(const std::function<void()>& body);

    // Results, after execute().
    [[nodiscard]] verdict result() const noexcept { return result_; }

    [[nodiscard]] const std::string& reason() const noexcept { return reason_; }

    [[nodiscard]] const schedule& taken() const noexcept { return taken_; }

    [[nodiscard]] uint64_t steps() const noexcept { return steps_; }

    [[nodiscard]] const std::vector<step_record>& records() const noexcept { return records_; }

    [[nodiscard]] const std::vector<g_record>& green_threads() const noexcept { return green_threads_; }

    // Of the locks of a schedule that has passed.
    [[nodiscard]] lock_order::inversion inversion() const { return locks_.find(); }

    // Of the next schedules inversion() tells nothing.
    void forget_locks() noexcept { keeps_locks_ = false; }

    void fail(verdict why, std::string reason);

    void push(weft::detail::G* g) noexcept override;
    weft::detail::G* next() noexcept override;
    bool replaces(weft::detail::G* g, weft::detail::operation what, const void* object) noexcept override;
    void object_ends(const void* object) noexcept override;
    void has_done(weft::detail::operation what, const void* object) noexcept override;
    uint32_t choose(uint32_t n) noexcept override;
    void failed(const weft::detail::G* g) noexcept override;
    void ended(const weft::detail::G* g) noexcept override;
    void escapes(const char* what) noexcept override;
    weft::detail::simulated_fds* fds() noexcept override;

    weft::detail::simulated_runtimes* runtimes() noexcept override { return is_driving() ? nullptr : &runtimes_; }

    void made(weft::detail::G* g) override;
    bool passes_time() noexcept override;

    // The running green thread does that, and nothing is ordered by it.
    void tell(weft::detail::operation what, const void* object) const noexcept {
        if (chooser_ != nullptr) chooser_->did(what, object);
    }

    // Those that must never run again are not runnable.
    void drop_abandoned() noexcept;

    // Whether the schedule may be run again after it has failed.
    [[nodiscard]] bool is_repeatable() const noexcept { return repeatable_; }

    // Green threads that were abandoned in all schedules so far.
    [[nodiscard]] uint64_t all_abandoned() const noexcept { return all_abandoned_; }

    [[nodiscard]] bool keeps_steps() const noexcept { return keeps_steps_; }

    // Something happened that the text of a failure has to say.
    void note(std::string what);

    // An access to a sim::shared.
    void access(const void* value, bool writes, const std::source_location& where);

    void forget_value(const void* value) noexcept { order_.forget(value); }

    // Of the C library, for the test: the same in each schedule, after the same seed.
    [[nodiscard]] uint64_t random_number() noexcept;

    void seed_random_numbers(uint64_t seed) noexcept { random_state_ = seed; }

    // The time, for a green thread that asks the C library. If it only asks, it sees the time move.
    [[nodiscard]] int64_t asked_ns() noexcept;

    // choose() for the simulation itself.
    [[nodiscard]] uint32_t draw(uint32_t n) noexcept;

    [[nodiscard]] simulated_network& network() noexcept { return network_; }

    // The one that runs the calling green thread; nullptr: the caller is no green thread of a test.
    [[nodiscard]] static controlled_run* of_caller() noexcept;

    // 0: it is the driver's, or none runs.
    [[nodiscard]] uint32_t number_of_caller() const noexcept;

    // How many green threads are runnable, do not run, and have numbers for which `counts` is true.
    template <typename F>
    [[nodiscard]] uint64_t count_runnable(F&& counts) const noexcept {
        uint64_t n = 0;
        for (const waiting& w : runnable_) n += counts(number_of(w.g)) ? 1U : 0U;
        return n;
    }

    // While it exists, no operation of the running green thread is a step.
    class without_steps {
    public:
        explicit without_steps(controlled_run& run) noexcept : run_(run) { run_.has_steps_ = false; }

        ~without_steps() { run_.has_steps_ = true; }

        without_steps(const without_steps&) = delete;
        without_steps& operator=(const without_steps&) = delete;

    private:
        controlled_run& run_;
    };

    // Where the running green thread is.
    [[nodiscard]] unsigned host_of_caller() const noexcept;

    // Whether its host has crashed since the running green thread was started.
    [[nodiscard]] bool caller_has_crashed() const noexcept;

    // Calls f with that changed.
    template <typename F>
    auto on_host(unsigned host, F&& f) {
        const host_scope here(host_instead_, host);
        return f();
    }

private:
    class host_scope {
    public:
        host_scope(std::optional<unsigned>& place, unsigned host) noexcept
            : place_(place), before_(std::exchange(place, host)) {}

        ~host_scope() { place_ = before_; }

        host_scope(const host_scope&) = delete;
        host_scope& operator=(const host_scope&) = delete;

    private:
        std::optional<unsigned>& place_;
        const std::optional<unsigned> before_;
    };

    struct pending {
        weft::detail::operation what = weft::detail::operation::start;
        const void* object = nullptr;
    };

    [[nodiscard]] uint32_t number_of(uint64_t id) const noexcept;
    [[nodiscard]] uint32_t number_of(const weft::detail::G* g) const noexcept;
    uint32_t number_new(weft::detail::G& g);
    [[nodiscard]] candidate candidate_of(const weft::detail::G* g);
    [[nodiscard]] pending& pending_of(uint32_t number);
    [[nodiscard]] bool count_step() noexcept;
    uint32_t replayed_option(uint32_t n) noexcept;
    void note_option(uint32_t option);
    [[nodiscard]] bool is_driving() const noexcept;
    [[nodiscard]] int64_t next_event_ns() const noexcept;
    void make_due_happen();
    void place(weft::detail::G& g, uint32_t number);
    [[nodiscard]] bool may_fire_early() const noexcept;
    [[nodiscard]] bool is_due() const noexcept;
    uint32_t pick(weft::detail::G* running, bool can_continue);
    weft::detail::G* pick_waiting();
    weft::detail::G* take(std::size_t index) noexcept;
    weft::detail::G* take_due();
    weft::detail::G* begin_step(weft::detail::G* g) noexcept;
    void record(const candidate& taken, const candidate* by_default = nullptr);
    void remember(const weft::detail::G& g, uint32_t number);

    const limits limits_;
    weft::detail::G* driver_ = nullptr;
    chooser* chooser_ = nullptr;
    const schedule* replayed_ = nullptr;
    std::size_t replayed_at_ = 0;
    bool keeps_steps_ = false;
    bool keeps_frames_ = false;
    std::vector<std::vector<const void*>> frames_of_;  // by number: of the last operation, if they are kept

    uint64_t first_id_ = 0;
    std::vector<uint32_t> numbers_;  // by id, from first_id_; 0: none of this schedule
    uint32_t last_number_ = 0;

    struct waiting {
        weft::detail::G* g;
        uint64_t since;  // steps_
    };

    std::vector<waiting> runnable_;      // in the order in which they became so
    std::vector<candidate> options_;     // of one decision
    std::vector<pending> pending_;       // by number
    weft::detail::G* picked_ = nullptr;  // by replaces(), for next()
    uint64_t choices_ = 0;
    uint64_t random_state_ = 0;
    schedule taken_;
    uint64_t steps_ = 0;
    uint64_t idle_moves_ = 0;  // of the clock, since a green thread became runnable
    uint32_t asks_ = 0;        // for the time, since a step began
    std::vector<step_record> records_;
    std::vector<g_record> green_threads_;  // by number
    bool body_returned_ = false;
    bool repeatable_ = true;
    uint64_t all_abandoned_ = 0;
    verdict result_ = verdict::passed;
    std::string reason_;

    bool has_steps_ = true;

    struct placed {
        unsigned host = 0;
        unsigned boot = 0;  // of the host, when it was started
    };

    std::vector<placed> places_;            // by number
    std::optional<unsigned> host_instead_;  // for the sockets and green threads that the caller makes
    simulated_network network_;
    test_runtimes runtimes_;

    const bool keeps_order_;
    order order_;
    bool keeps_locks_;
    lock_order locks_;
    fairness fairness_;
};

}  // namespace weft::sim
