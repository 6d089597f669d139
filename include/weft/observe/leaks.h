// leaks.h: green threads that will never run again, because nothing can wake them.
//
// Part of the component weft::observe.
//
//     std::puts(weft::observe::leaks().text().c_str());   // which have leaked, where, and for how long
//
//     TEST(Server, StopsItsWorkers) {
//         EXPECT_NO_LEAKED_GREEN_THREADS();                // fails if the test leaves one behind
//         …
//     }
//
// leaks() proves its result: what it reports cannot be woken. It does not see a green thread that
// waits for something that is still reachable, although nothing will ever use it. These are found
// by what they have in common: the end of a test (leak_check), and age and growth (leak_watch).
//
// See: docs/leaks.md
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <weft/observe/profile.h>
#include <weft/runtime.h>

namespace weft::observe {

/// Green threads that wait at the same place, for the same reason, and were started at the same
/// place.
struct leak_group {
    uint64_t count = 0;
    std::vector<uint64_t> ids;  ///< the first eight
    std::string name;           ///< empty: none, or not all have the same
    std::string state;          ///< what they wait for, as in a dump: "chan receive"
    weft::source_location started;
    std::chrono::nanoseconds shortest{};
    std::chrono::nanoseconds longest{};  ///< how long they have waited
};

/// Green threads of which each waits for the next one, and the last one for the first. Some other
/// green threads may go on.
struct wait_cycle {
    struct link {
        uint64_t id = 0;
        std::string name;
        std::string state;             ///< "mutex lock", "future"
        const void* object = nullptr;  ///< the mutex; the lock word of another object
    };

    std::vector<link> links;
};

/// What a search has cost, and what it has seen.
struct leak_figures {
    uint64_t live = 0;         ///< green threads of the process
    uint64_t waiting = 0;      ///< those that wait for something inside the process
    uint64_t heap_bytes = 0;   ///< memory from malloc
    uint64_t other_bytes = 0;  ///< memory of the program from elsewhere, which counts as reachable
    unsigned scans = 0;
    bool has_registers = false;           ///< of all threads
    std::chrono::nanoseconds pause{};     ///< how long the program stood still, in the longest scan
    std::chrono::nanoseconds copy{};      ///< of that: to copy the page tables
    std::chrono::nanoseconds copy_cpu{};  ///< the processor time of the copy
    std::chrono::nanoseconds search{};    ///< in the copy, in the longest scan
};

/// What leaks() has found. Copies share their memory. Any thread.
class leak_report {
public:
    /// All green threads in groups(), but not those in cycles().
    [[nodiscard]] uint64_t count() const noexcept;

    /// The largest group first.
    [[nodiscard]] const std::vector<leak_group>& groups() const noexcept;

    /// Each once. No deadline or cancellation can end their waits. They are usually reachable.
    /// Holders of mutexes are known only with RUN_DEBUG=lockowners=1.
    [[nodiscard]] const std::vector<wait_cycle>& cycles() const noexcept;

    /// Nothing was found.
    [[nodiscard]] bool empty() const noexcept { return count() == 0 && cycles().empty(); }

    [[nodiscard]] const leak_figures& figures() const noexcept;

    /// Empty: the search was made. Else why it was not: then groups() is empty.
    [[nodiscard]] const std::string& not_searched() const noexcept;

    /// All of it, with stacks. Names are looked up, which takes from some ms to 5 s.
    [[nodiscard]] std::string text() const;

    /// One sample for each group: the stack, with the labels of goroutine_profile().
    [[nodiscard]] profile to_profile() const;

private:
    friend struct leak_report_maker;

    struct content;

    std::shared_ptr<const content> content_;
};

struct leak_options {
    /// For each scan. One that takes longer is ended, and reported as not made.
    std::chrono::nanoseconds time_limit = std::chrono::seconds(20);

    /// Stop all threads for a moment, to read their registers. If false, or if the system refuses
    /// it, only what two scans find is reported, and a pointer that is in a register all the time
    /// is not seen.
    bool stop_threads = true;
};

/// Searches the whole process, and reports what has leaked of the runtime of the calling green
/// thread, or of the default runtime. Any thread; a green one gives up its processor. All threads
/// stand still while the page tables are copied: docs/leaks.md has figures. Throws
/// std::logic_error if there is no runtime, std::system_error, std::bad_alloc.
/// Not available with AddressSanitizer and ThreadSanitizer, whose malloc is another one:
/// not_searched() says so.
[[nodiscard]] leak_report leaks(const leak_options& options = {});

/// The same of this runtime. Throws std::logic_error if it is stopped.
[[nodiscard]] leak_report leaks(const runtime& of, const leak_options& options = {});

/// Finds what was started while it exists and is still there.
///
///     const weft::observe::leak_check check;
///     run_one_test();
///     if (auto left = check.left(); !left.empty()) fail(left.text());
class leak_check {
public:
    /// Of the runtime of the calling green thread, or of the default one, which is started if it
    /// does not run. Throws std::bad_alloc; what starting a runtime throws.
    leak_check();

    /// Of this runtime. If it is stopped meanwhile, nothing is left. Throws std::logic_error if it
    /// is stopped already; std::bad_alloc.
    explicit leak_check(const runtime& of);

    ~leak_check();
    leak_check(const leak_check&) = delete;
    leak_check& operator=(const leak_check&) = delete;

    /// The green threads that were started since then and have not ended; the caller is not
    /// counted. Waits until all have ended, but not longer than patience. Any thread.
    [[nodiscard]] leak_report left(std::chrono::nanoseconds patience = std::chrono::seconds(1)) const;

private:
    struct state;

    std::unique_ptr<state> state_;
};

struct leak_watch_options {
    /// Green threads that have waited for less do not count.
    std::chrono::nanoseconds age = std::chrono::minutes(10);

    uint64_t count_min = 100;  ///< a place is reported only if so many wait there

    unsigned looks = 3;  ///< … and if their number has grown at each of so many looks, one after the other
};

/// A place that starts green threads of which more and more wait for a long time.
struct leak_suspect {
    weft::source_location started;
    std::string name;
    uint64_t count = 0;    ///< those that have waited longer than options.age
    uint64_t grew_by = 0;  ///< since the first of the looks
    std::chrono::nanoseconds longest{};
};

/// Finds places whose green threads wait longer and become more. For a server: call look() every
/// few minutes. It costs less than a microsecond for each green thread, and stops nothing.
class leak_watch {
public:
    /// Watches the runtime of the calling green thread, or the default one, which is started if it
    /// does not run. Throws std::invalid_argument if an option is zero or negative; std::bad_alloc;
    /// what starting a runtime throws.
    explicit leak_watch(const leak_watch_options& options = {});

    /// Watches this runtime. Also throws std::logic_error if it is stopped.
    explicit leak_watch(const runtime& of, const leak_watch_options& options = {});

    ~leak_watch();
    leak_watch(const leak_watch&) = delete;
    leak_watch& operator=(const leak_watch&) = delete;

    /// One thread at a time. Empty if the runtime has stopped. Throws std::bad_alloc.
    [[nodiscard]] std::vector<leak_suspect> look();

private:
    struct state;

    std::unique_ptr<state> state_;
};

namespace detail {

// Calls fail(text) at its end, if green threads are left.
template <typename Fail>
class leak_check_at_end {
public:
    template <typename... Runtime>
    explicit leak_check_at_end(Fail fail, const Runtime&... of) : check_(of...), fail_(std::move(fail)) {}

    leak_check_at_end(const leak_check_at_end&) = delete;
    leak_check_at_end& operator=(const leak_check_at_end&) = delete;

    ~leak_check_at_end() {
        const leak_report left = check_.left();
        if (!left.empty()) fail_(left.text());
    }

private:
    leak_check check_;
    Fail fail_;
};

}  // namespace detail

}  // namespace weft::observe

#define WEFT_LEAKS_JOIN_(a, b) a##b
#define WEFT_LEAKS_NAME_(line) WEFT_LEAKS_JOIN_(weft_leak_check_, line)

/// At the beginning of a test of GoogleTest, or of any block in it: fails if a green thread that
/// was started afterwards is left at the end of the block. Takes a runtime, or nothing: as
/// leak_check.
#define EXPECT_NO_LEAKED_GREEN_THREADS(...)                                                                        \
    const ::weft::observe::detail::leak_check_at_end WEFT_LEAKS_NAME_(__LINE__)([](const std::string& weft_left) { \
        ADD_FAILURE() << "green threads are left:\n" << weft_left;                                                 \
    } __VA_OPT__(, ) __VA_ARGS__)
