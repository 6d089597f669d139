// cpu_profiler.cc: samples of what all threads of the process compute.
//
//     a thread      its timer has counted 1/hz of CPU time: in the handler it writes what it runs
//                   into an empty place (sample_slots.h)
//     the collector a thread of its own: each collect_ns it empties the places, adds equal samples
//                   up, and gives timers to new threads
//
// So handlers allocate nothing, and the profile needs no memory for each sample. If a handler finds
// no place, its sample is counted as lost; the profile's comment says so.
//
// Locks:   none. `owner` says which process has a profiler: one at a time, because there is one
//          set of places. The child of a fork has neither timers nor the collector.
// Threads: the profiler's functions: any, one at a time.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include <weft/blocking.h>
#include <weft/observe/profile.h>
#include <weft/time.h>

#include "base/atomic.h"
#include "base/prng.h"
#include "debug/running_here.h"
#include "debug/sample_slots.h"
#include "observe/code_names.h"
#include "observe/pprof.h"
#include "observe/profile_maker.h"
#include "os/cpu_sampling.h"
#include "os/os.h"
#include "os/signals.h"

namespace weft::observe {

namespace {

namespace os = weft::detail::os;
using weft::detail::acq_rel;
using weft::detail::acquire;
using weft::detail::release;
using weft::detail::running_here;

constexpr int64_t second_ns = 1'000'000'000;
constexpr int64_t collect_ns = 50'000'000;
constexpr unsigned hz_max = 1000;
constexpr std::size_t different_max = std::size_t{1} << 18;  // samples that are not equal

struct sample {
    running_here here;
    uint32_t periods = 0;
};

using slots = weft::detail::sample_slots<sample, 2048>;

// The places of the profiler that exists. Written while no handler uses it.
constinit slots* places = nullptr;

// The process that has a profiler; 0: none.
constinit weft::detail::atomic<int> owner{0};

void take_sample(const os::fault& at, uint32_t periods) noexcept {
    static_cast<void>(places->add([&](sample& s) {
        s.here.read(at);
        s.periods = periods;
    }));
}

// Equal samples.
struct counted {
    int64_t samples = 0;
    std::vector<const void*> pcs;
    const void* return_without_frame = nullptr;
    std::vector<std::pair<std::string, std::string>> labels;
};

class counted_samples {
public:
    explicit counted_samples(bool label_green_threads) noexcept : label_green_threads_(label_green_threads) {}

    void add(const sample& s) {
        const running_here& here = s.here;
        total_ += s.periods;
        counted c;
        std::string key;
        const auto add_label = [&](std::string_view name, std::string_view value) {
            if (value.empty()) return;
            c.labels.emplace_back(name, value);
            key.append(name).append(1, '\0').append(value).append(1, '\0');
        };
        if (here.of == running_here::owner::green_thread) {
            if (label_green_threads_) add_label("green_thread", std::to_string(here.who.id));
            add_label("name", here.who.name);
            add_label("started_at", detail::place_of(here.who.where));
            if (here.in_call) add_label("state", "in call");
            if (!here.has_p) add_label("processor", "none");
            for (std::size_t i = 0; i < here.labels.size(); ++i) add_label(here.labels[i].key, here.labels[i].value);
        } else if (here.of == running_here::owner::runtime) {
            add_label("runs", "runtime");
        } else {
            add_label("runs", "other thread");
            add_label("thread", std::to_string(here.tid));
        }
        c.pcs.assign(here.pcs, here.pcs + here.count);
        key.append(reinterpret_cast<const char*>(c.pcs.data()), c.pcs.size() * sizeof(void*));
        if (here.may_lack_frame()) c.return_without_frame = here.return_without_frame;
        key.append(reinterpret_cast<const char*>(&c.return_without_frame), sizeof(void*));
        if (here.is_cut) ++cut_;
        if (all_.size() >= different_max && all_.find(key) == all_.end()) {
            ++dropped_;
            return;
        }
        all_.try_emplace(std::move(key), std::move(c)).first->second.samples += s.periods;
    }

    [[nodiscard]] std::string encode(
        int64_t period_ns, int64_t unix_ns, int64_t duration_ns, uint64_t lost, uint64_t refused) const {
        const detail::value_type values[] = {{"samples", "count"}, {"cpu", "nanoseconds"}};
        detail::pprof to(values);
        detail::code_names names(to);
        for (const auto& [key, c] : all_) {
            const std::vector<uint64_t> locations =
                names.locations_of(c.pcs, true, detail::shown_frames::all_but_start, c.return_without_frame);
            std::vector<detail::profile_label> labels;
            labels.reserve(c.labels.size());
            for (const auto& [name, value] : c.labels) labels.push_back({name, value});
            const int64_t amounts[] = {c.samples, c.samples * period_ns};
            to.add_sample(locations, amounts, labels);
        }
        to.set_period(values[1], period_ns);
        to.set_time(unix_ns, duration_ns);
        const auto comment = [&](uint64_t count, const char* what) {
            if (count != 0) to.add_comment("weft: " + std::to_string(count) + what);
        };
        to.add_comment("weft: " + std::to_string(total_) + " samples, " + std::to_string(lost + dropped_) + " lost");
        comment(refused, " threads could not get a timer");
        comment(cut_, " samples have deeper stacks than is shown");
        comment(names.unnamed(), " addresses have no name");
        return to.finish();
    }

private:
    bool label_green_threads_;
    std::unordered_map<std::string, counted> all_;
    uint64_t total_ = 0;
    uint64_t dropped_ = 0;
    uint64_t cut_ = 0;
};

// The timers of all threads but the collector's.
class timers {
public:
    explicit timers(int64_t period_ns) noexcept : period_ns_(period_ns) {}

    void find_threads() {
        for (auto at = by_tid_.begin(); at != by_tid_.end();) {
            at->second.is_listed = false;
            if (at->second.is_refused || os::has_thread(at->second.timer)) {
                ++at;
                continue;
            }
            os::end_timer(at->second.timer);
            at = by_tid_.erase(at);
        }
        listed_.clear();
        listed_.reserve(std::size_t{os::thread_count()} + 64);
        const bool is_answered = os::for_each_thread(
            [](void* self, int tid) noexcept {
                auto& listed = static_cast<timers*>(self)->listed_;
                if (listed.size() == listed.capacity()) return false;  // the others next time
                listed.push_back(tid);
                return true;
            },
            this);
        const bool is_whole = is_answered && listed_.size() < listed_.capacity();
        for (const int tid : listed_) start(tid);
        if (is_whole) std::erase_if(by_tid_, [](const auto& t) { return t.second.is_refused && !t.second.is_listed; });
    }

    void end_all() noexcept {
        for (const auto& [tid, known] : by_tid_) {
            if (!known.is_refused) os::end_timer(known.timer);
        }
        by_tid_.clear();
    }

    // Threads.
    [[nodiscard]] uint64_t refused() const noexcept { return refused_; }

    // Of the last one.
    [[nodiscard]] int error() const noexcept { return error_; }

    // No thread has a timer.
    [[nodiscard]] bool empty() const noexcept {
        return std::all_of(by_tid_.begin(), by_tid_.end(), [](const auto& t) { return t.second.is_refused; });
    }

private:
    struct known_thread {
        os::sampling_timer timer;
        bool is_listed = true;
        bool is_refused = false;  // the system gave it no timer
    };

    void start(int tid) {
        if (tid == os::current_tid()) return;
        const auto before = by_tid_.find(tid);
        if (before != by_tid_.end()) {
            before->second.is_listed = true;
            if (!before->second.is_refused) return;
        }
        // Later perhaps: Ms unblock the signal after their start.
        if (os::may_block_sampling(tid)) return;
        known_thread& t = by_tid_[tid];
        // At a random time, so that threads are not interrupted together.
        const auto first_ns = int64_t{random_.below(static_cast<uint32_t>(period_ns_))} + 1;
        const int error = os::start_timer(t.timer, tid, first_ns, period_ns_);
        if (error == ESRCH || error == EINVAL) {  // it has ended
            by_tid_.erase(tid);
            return;
        }
        if (error != 0) error_ = error;
        // Each time it is asked again, but counted once.
        if (error != 0 && !t.is_refused) ++refused_;
        t.is_refused = error != 0;
    }

    int64_t period_ns_;
    std::unordered_map<int, known_thread> by_tid_;
    std::vector<int> listed_;
    weft::detail::prng random_{static_cast<uint64_t>(os::monotonic_ns())};
    uint64_t refused_ = 0;
    int error_ = 0;
};

}  // namespace

struct cpu_profiler::state {
    explicit state(const cpu_profile_options& options)
        : period_ns(second_ns / options.hz), all(options.label_green_threads), its_timers(period_ns) {}

    const int64_t period_ns;
    const int process = ::getpid();
    const int64_t began_unix_ns = detail::unix_ns();
    const int64_t began_ns = os::monotonic_ns();
    slots samples;
    counted_samples all;                         // the collector's, until it has ended
    timers its_timers;                           // as above
    bool out_of_memory = false;                  // as above
    weft::detail::atomic<uint32_t> stopping{0};  // a futex word
    weft::detail::atomic<uint32_t> created{0};   // as above: begin, which blocked signals for that, goes on
    weft::detail::atomic<uint32_t> ready{0};     // as above: the first timers are set
    os::thread_id collector = 0;
    int64_t ended_ns = 0;
    bool runs = false;

    void begin() {
        // Once outside of a handler, so that a dynamic linker has found all functions.
        sample first;
        const void* const here = __builtin_frame_address(0);
        first.here.read({0, here, nullptr, here});
        places = &samples;
        if (!os::begin_sampling(&take_sample)) {
            places = nullptr;
            throw std::system_error(std::make_error_code(std::errc::not_supported),
                                    "weft: no CPU profile: after weft had installed its handler for SIGURG, the "
                                    "program set SIG_DFL or SIG_IGN; leave the signal as it is, or set it earlier");
        }
        if (const int error = os::start_thread(collector, &state::collect, this)) {
            end_hook();
            throw std::system_error(error, std::generic_category(), "weft: cannot start the thread of a CPU profile");
        }
        runs = true;
        created.store(1, release);  // pairs with collect
        os::futex_wake_one(created);
        while (ready.load(acquire) == 0) os::futex_wait(ready, 0, INT64_MAX);  // pairs with collect
        if (its_timers.empty() && its_timers.error() != 0) {
            const int error = its_timers.error();
            end();
            throw std::system_error(error, std::generic_category(), "weft: cannot make timers for a CPU profile");
        }
    }

    // The caller's process has the threads and timers.
    void end() noexcept {
        if (!std::exchange(runs, false)) return;
        stopping.store(1, release);  // pairs with collect
        os::futex_wake_one(stopping);
        os::join_thread(collector);
        end_hook();
        ended_ns = os::monotonic_ns();
        collect_once();  // what came since
    }

private:
    static void end_hook() noexcept {
        os::end_sampling();
        places = nullptr;
    }

    void collect_once() noexcept {
        samples.take_all([this](sample& s) {
            try {
                all.add(s);
            } catch (const std::bad_alloc&) {
                out_of_memory = true;
            }
            s.here.labels = {};
        });
    }

    void find_threads() noexcept {
        try {
            its_timers.find_threads();
        } catch (const std::bad_alloc&) {
            out_of_memory = true;
        }
    }

    static void* collect(void* self) {
        auto& s = *static_cast<state*>(self);
        os::name_thread("weft-profile");
        while (s.created.load(acquire) == 0) os::futex_wait(s.created, 0, INT64_MAX);  // pairs with begin
        s.find_threads();
        s.ready.store(1, release);  // pairs with begin
        os::futex_wake_one(s.ready);
        while (s.stopping.load(acquire) == 0) {  // pairs with end
            os::futex_wait(s.stopping, 0, os::monotonic_ns() + collect_ns);
            s.collect_once();
            s.find_threads();
        }
        s.its_timers.end_all();
        return nullptr;
    }
};

cpu_profiler::cpu_profiler(const cpu_profile_options& options) {
    if (options.hz < 1 || options.hz > hz_max)
        throw std::invalid_argument("weft: a CPU profile with " + std::to_string(options.hz) +
                                    " samples per second; hz must be 1 to " + std::to_string(hz_max));
    if (!os::can_sample)
        throw std::system_error(std::make_error_code(std::errc::not_supported),
                                "weft: no CPU profile with ThreadSanitizer, which delays signals");
    auto made = std::make_unique<state>(options);
    const int self = ::getpid();
    int found = owner.load(acquire);  // pairs with the release of the one before
    // acq_rel: one of us begins. A parent's profiler is not there.
    if (found == self || !owner.compare_exchange_strong(found, self, acq_rel, acquire))
        throw std::system_error(std::make_error_code(std::errc::device_or_resource_busy),
                                "weft: a CPU profile is being taken already; wait for its end, or stop it");
    try {
        made->begin();
    } catch (...) {
        owner.store(0, release);  // pairs with the next one's
        throw;
    }
    state_ = std::move(made);
}

cpu_profiler::~cpu_profiler() {
    if (!state_->runs || state_->process != ::getpid()) return;
    blocking([&] { state_->end(); });
    owner.store(0, release);  // pairs with the next one's
}

profile cpu_profiler::stop() {
    if (!state_->runs) throw std::logic_error("weft: cpu_profiler::stop() was called before");
    if (state_->process != ::getpid())
        throw std::logic_error("weft: cpu_profiler::stop() in the child of a fork; only the parent has the profile");
    return blocking([&] {
        state& s = *state_;
        s.end();
        owner.store(0, release);  // pairs with the next one's
        if (s.out_of_memory) throw std::bad_alloc();
        return profile_maker::make(s.all.encode(s.period_ns, s.began_unix_ns, s.ended_ns - s.began_ns, s.samples.lost(),
                                                s.its_timers.refused()));
    });
}

profile cpu_profile(std::chrono::nanoseconds duration, const cpu_profile_options& options) {
    cpu_profiler profiler(options);
    sleep_for(duration);
    return profiler.stop();
}

}  // namespace weft::observe
