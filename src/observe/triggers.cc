// triggers.cc: see weft/observe/triggers.h.
//
// The thread of a `triggers` object waits at an eventfd, which handlers of signals and a thread
// that ends the process may write to. Objects end, and a handler may still be running then. So what
// a handler touches is a slot, which never ends: its descriptor stays open, and the next object
// uses it again.
//
//      handler, crash      S1  finds trigger_slots in use     S2  sets a bit of reasons    S3  writes to the eventfd
//      thread              R1  reads the eventfd      R2  takes the reasons
//
// A crash then waits until the thread has saved, at most longest_wait: the thread may need a lock
// that the crashed one holds, such as malloc's.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <weft/observe/triggers.h>

#include "base/report_hook.h"
#include "observe/access.h"
#include "observe/own_thread.h"
#include "observe/recording_file.h"
#include "observe/session.h"
#include "os/os.h"
#include "os/signals.h"
#include "sched/recording.h"
#include "sched/scheduler.h"

namespace weft::observe {

namespace {

using clock = std::chrono::steady_clock;
using weft::detail::reported;

constexpr std::chrono::seconds longest_wait{5};
constexpr std::chrono::hours longest_time{24 * 365};  // of options; so that times can be added
constexpr int largest_signal = 64;
constexpr std::size_t most_objects = 64;
constexpr std::size_t longest_reason = 100;

// Why a slot's thread should save.
namespace reason {
constexpr uint32_t called = 1U << 0;  // trigger()
constexpr uint32_t by_signal = 1U << 1;
constexpr uint32_t watchdog = 1U << 2;
constexpr uint32_t deadlock = 1U << 3;
constexpr uint32_t fatal = 1U << 4;
constexpr uint32_t ends = 1U << 5;  // the object ends
constexpr uint32_t last_moment = deadlock | fatal;
}  // namespace reason

struct slot {
    std::atomic<int> owner{0};   // a process; 0: free. The child of a fork sees its parent's, whose thread is not there
    std::atomic<int> fd{-1};     // once opened, for ever
    int opened_by = 0;           // a process. The child of a fork would share its parent's
    std::atomic<int> signal{0};  // 0: none
    std::atomic<uint32_t> wants{0};  // of watchdog and last_moment, those that the object wants
    std::atomic<uint32_t> reasons{0};
    std::atomic<int> thread{0};           // its tid
    std::atomic<uint32_t> last_saved{0};  // how often a last moment was saved, or could not be
};

constinit std::array<slot, most_objects> trigger_slots;

constinit std::atomic<uint64_t> next_number{1};  // of a file

bool is_in_use(const slot& s) noexcept { return s.owner.load() == ::getpid(); }

void wake(slot& s, uint32_t why) noexcept {
    s.reasons.fetch_or(why);  // S2
    const uint64_t one = 1;
    while (::write(s.fd.load(), &one, sizeof(one)) < 0 && errno == EINTR) {}  // S3
}

// The hook of a signal, in a handler.
template <int Signal>
void on_signal() noexcept {
    for (slot& s : trigger_slots) {
        if (is_in_use(s) && s.signal.load() == Signal) wake(s, reason::by_signal);
    }
}

template <int... Signals>
constexpr std::array<void (*)() noexcept, sizeof...(Signals)> hooks_of(
    std::integer_sequence<int, Signals...>) noexcept {
    return {&on_signal<Signals>...};
}

constexpr auto signal_hooks = hooks_of(std::make_integer_sequence<int, largest_signal + 1>());

void on_report(reported what) noexcept {
    const uint32_t why = what == reported::watchdog   ? reason::watchdog
                         : what == reported::deadlock ? reason::deadlock
                                                      : reason::fatal;
    const int64_t until = weft::detail::os::monotonic_ns() + std::chrono::nanoseconds(longest_wait).count();
    std::array<uint32_t, most_objects> before{};
    const auto is_told = [&](const slot& s) {
        // It cannot wait for itself.
        return is_in_use(s) && (s.wants.load() & why) != 0 && s.thread.load() != weft::detail::os::current_tid();
    };
    for (std::size_t i = 0; i < most_objects; ++i) {
        before[i] = trigger_slots[i].last_saved.load();
        if (is_told(trigger_slots[i])) wake(trigger_slots[i], why);
    }
    if ((why & reason::last_moment) == 0) return;
    for (std::size_t i = 0; i < most_objects; ++i) {
        const slot& s = trigger_slots[i];
        while (is_told(s) && s.last_saved.load() == before[i] && weft::detail::os::monotonic_ns() < until) {
            const std::timespec pause{0, 1'000'000};
            ::nanosleep(&pause, nullptr);
        }
    }
}

// The slot's descriptor, empty.
[[nodiscard]] int open_fd(slot& s) noexcept {
    if (s.opened_by != 0 && s.opened_by != ::getpid()) {
        ::close(s.fd.load());
        s.fd.store(-1);
    }
    if (s.fd.load() < 0) s.fd.store(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    s.opened_by = ::getpid();
    uint64_t left = 0;
    static_cast<void>(!::read(s.fd.load(), &left, sizeof(left)));
    return s.fd.load();
}

// A slot belongs to an object.
class held_slot {
public:
    held_slot() : held_(get()) {
        held_.reasons.store(0);
        if (open_fd(held_) >= 0) return;
        const int error = errno;
        held_.owner.store(0);
        throw std::system_error(error, std::generic_category(), "weft: triggers need an eventfd");
    }

    ~held_slot() {
        held_.signal.store(0);
        held_.wants.store(0);
        held_.thread.store(0);
        held_.owner.store(0);
    }

    held_slot(const held_slot&) = delete;
    held_slot& operator=(const held_slot&) = delete;

    slot* operator->() const noexcept { return &held_; }

    slot& operator*() const noexcept { return held_; }

private:
    static slot& get() {
        for (slot& s : trigger_slots) {
            int owner = s.owner.load();
            const bool is_free = owner != ::getpid();
            if (is_free && s.owner.compare_exchange_strong(owner, ::getpid())) return s;
        }
        throw std::length_error("weft: there are 64 objects of class triggers, which is the most; destroy one");
    }

    slot& held_;
};

void check(const trigger_options& o) {
    const auto refuse = [](const char* why) {
        throw std::invalid_argument(std::string("weft: trigger_options::") + why);
    };
    if (o.before < o.before.zero()) refuse("before is negative");
    if (o.after < o.after.zero()) refuse("after is negative");
    if (o.at_most_every < o.at_most_every.zero()) refuse("at_most_every is negative");
    if (o.when && o.period < std::chrono::milliseconds(1)) refuse("period is less than a millisecond");
    if (o.signal < 0 || o.signal > largest_signal) refuse("signal is no signal");
    struct stat what{};
    if (::stat(o.folder.c_str(), &what) != 0) {
        throw std::system_error(errno, std::generic_category(), "weft: the folder for recordings, " + o.folder);
    }
    if (!S_ISDIR(what.st_mode)) {
        throw std::system_error(ENOTDIR, std::generic_category(), "weft: the folder for recordings, " + o.folder);
    }
    if (::access(o.folder.c_str(), W_OK | X_OK) != 0) {
        throw std::system_error(errno, std::generic_category(),
                                "weft: cannot write in the folder for recordings, " + o.folder);
    }
}

// As part of a file's name.
std::string as_name(std::string_view why) {
    std::string name(why.substr(0, 40));
    for (char& c : name) {
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
        if (!is_plain) c = '_';
    }
    return name.empty() ? "trigger" : name;
}

}  // namespace

struct triggers::state {
    state(std::shared_ptr<detail::session> of, trigger_options o)
        : from(std::move(of)), options(std::move(o)), next_question(clock::now()) {
        detail::recorded process;
        add_process(process, detail::now());
        prefix = options.folder + "/" + process.program + "-" + std::to_string(process.pid) + "-";
    }

    // The thread.
    void run() {
        own->thread.store(weft::detail::os::current_tid());
        bool ends = false;
        while (!ends) {
            wait(time_of_next_task());
            const uint32_t reasons = own->reasons.exchange(0);  // R2
            const auto now = clock::now();
            if ((reasons & reason::last_moment) != 0) return save_last(reasons);
            if ((reasons & reason::called) != 0) note_call(now);
            if ((reasons & reason::by_signal) != 0) note("signal " + std::to_string(options.signal), now);
            if ((reasons & reason::watchdog) != 0) note("watchdog", now);
            if (options.when && now >= next_question) {
                next_question = now + options.period;
                if (options.when()) note("condition", now);
            }
            ends = (reasons & reason::ends) != 0;
            if (is_noted && (ends || now >= save_at)) save_noted();
        }
    }

    void wait(clock::time_point until) const noexcept {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
        pollfd p{own->fd.load(), POLLIN, 0};
        const auto limit = static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
        if (::poll(&p, 1, limit) <= 0) return;
        uint64_t count = 0;
        static_cast<void>(!::read(p.fd, &count, sizeof(count)));  // R1
    }

    [[nodiscard]] clock::time_point time_of_next_task() const noexcept {
        clock::time_point next = clock::now() + std::chrono::minutes(1);
        if (is_noted) next = (std::min)(next, save_at);
        if (options.when) next = (std::min)(next, next_question);
        return next;
    }

    void note_call(clock::time_point now) {
        std::string why;
        {
            const std::lock_guard lock(calling);
            why = std::move(called_for);
            called_for.clear();
        }
        note(why, now);
    }

    // A trigger. Saved after options.after.
    void note(const std::string& why, clock::time_point now) {
        add_message("trigger: " + why);
        if (is_noted || (last_save && now - *last_save < options.at_most_every)) {
            left_out.fetch_add(1);
            return;
        }
        is_noted = true;
        noted = why;
        save_at = now + options.after;
    }

    // In the recording itself.
    void add_message(const std::string& text) const {
        weft::detail::recording& r = *from->source;
        r.changing.lock();
        if (r.of != nullptr) weft::detail::record_log_outside(*r.of, text);
        r.changing.unlock();
    }

    void save_noted() {
        is_noted = false;
        last_save = clock::now();
        save(noted, options.before + options.after);
    }

    // The process is about to end.
    void save_last(uint32_t reasons) {
        save((reasons & reason::deadlock) != 0 ? "deadlock" : "fatal", options.before);
        own->wants.store(0);  // the thread ends
        own->last_saved.fetch_add(1);
    }

    void save(const std::string& why, std::chrono::nanoseconds window) {
        std::string path;
        try {
            const auto saved_now = from->snapshot(window);
            path = write_new(*saved_now, why);
        } catch (const std::exception& e) {
            if (failed.fetch_add(1) == 0) std::fprintf(stderr, "weft: a trigger saved nothing: %s\n", e.what());
            return;
        }
        kept.push_back(path);
        if (options.files != 0 && kept.size() > options.files) {
            static_cast<void>(::unlink(kept.front().c_str()));
            kept.pop_front();
        }
        saved.fetch_add(1);
        if (options.saved) options.saved(path, why);
    }

    // Numbers are unique in the process. A file may be left from another process with the same
    // number.
    [[nodiscard]] std::string write_new(const detail::recorded& r, const std::string& why) const {
        for (;;) {
            std::string path = prefix + std::to_string(next_number.fetch_add(1)) + "-" + as_name(why) + ".weftrec";
            try {
                detail::write_file(r, path, detail::output::mode::create);
                return path;
            } catch (const std::system_error& e) {
                if (e.code() == std::errc::file_exists) continue;
                if (e.code() != std::errc::no_such_file_or_directory) static_cast<void>(::unlink(path.c_str()));
                throw;
            }
        }
    }

    const std::shared_ptr<detail::session> from;
    const trigger_options options;
    held_slot own;
    std::string prefix;  // of the files' paths

    std::mutex calling;
    std::string called_for;  // under it

    // Of the thread.
    clock::time_point next_question;
    bool is_noted = false;
    std::string noted;
    clock::time_point save_at;
    std::optional<clock::time_point> last_save;
    std::deque<std::string> kept;

    std::atomic<uint64_t> saved{0};
    std::atomic<uint64_t> left_out{0};
    std::atomic<uint64_t> failed{0};
    std::unique_ptr<detail::own_thread> thread;
};

triggers::triggers(const recorder& from, trigger_options options) {
    check(options);
    for (std::chrono::nanoseconds* time : {&options.before, &options.after, &options.at_most_every, &options.period}) {
        *time = (std::min)(*time, std::chrono::nanoseconds(longest_time));
    }
    if (options.signal != 0) {
        const auto hook = signal_hooks[static_cast<std::size_t>(options.signal)];
        if (const int error = weft::detail::os::call_on_signal(options.signal, hook)) {
            throw std::system_error(error, std::generic_category(),
                                    "weft: signal " + std::to_string(options.signal) + " cannot trigger recordings");
        }
    }
    weft::detail::set_report_hook(weft::detail::report_user::recorder, &on_report);
    state_ = std::make_unique<state>(detail::access::session_of(from), std::move(options));
    const trigger_options& o = state_->options;
    const bool calls_program = o.when != nullptr || o.saved != nullptr;
    state_->thread =
        std::make_unique<detail::own_thread>("weft triggers", calls_program, [s = state_.get()] { s->run(); });
    state_->own->signal.store(o.signal);
    state_->own->wants.store((o.by_watchdog ? reason::watchdog : 0) | (o.at_end ? reason::last_moment : 0));
}

triggers::~triggers() {
    held_slot& own = state_->own;
    own->wants.store(0);
    own->signal.store(0);
    if (!state_->thread->exists_here()) {
        state_->thread->forget();
        state* const left = state_.release();  // a thread of the parent may have held its lock
        static_cast<void>(left);
        return;
    }
    wake(*own, reason::ends);
    state_->thread->join();
}

void triggers::trigger(std::string_view why) noexcept {
    {
        const std::lock_guard lock(state_->calling);
        if (!state_->called_for.empty()) {
            state_->left_out.fetch_add(1);
            return;
        }
        try {
            state_->called_for = why.empty() ? "trigger" : why.substr(0, longest_reason);
        } catch (const std::bad_alloc&) {
            state_->left_out.fetch_add(1);
            return;
        }
    }
    wake(*state_->own, reason::called);
}

uint64_t triggers::saved() const noexcept { return state_->saved.load(); }

uint64_t triggers::left_out() const noexcept { return state_->left_out.load(); }

uint64_t triggers::failed() const noexcept { return state_->failed.load(); }

}  // namespace weft::observe
