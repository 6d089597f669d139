// poll_desc_model.cc: one descriptor number, and the files that it denotes one after the other.
//
// - A file is closed once, when no call uses it.
// - Closing, a new deadline, and the end of a poller wake every waiter.
// - No call and no event reaches the file that gets the number next.
// - No waiter misses an event for its file, whatever happens at the same time.
//
// src/netpoll/poll_desc.cc and poll_side.cc, src/net/fd_io.h, fd_io.cc and fd_handle.cc, and
// src/wait/wait.cc are compiled as they are. The model plays the system: what the number denotes,
// what can be read and written there, to which poller it was added, and a poller's thread.
//
// These fail: a call whose file is closed, or replaced by another one; a second close(); a close()
// during a call, or of a file that is still on its poller; an event that wakes a waiter of another
// file.
//
// mutants: EVENT_FOR_ANY COUNTED_IN_PASSING ENTERED_WITH_ANY CLOSED_WITH_ANY CLOSED_UNDER_CALLS ENDED_BLINDLY
// mutants: LAST_STAYS READERS_FORGOTTEN WRITERS_FORGOTTEN ABANDONED_IN_SILENCE NUDGED_IN_SILENCE EVICTED_IN_SILENCE BEGUN_TWICE
// mutants: RENOUNCED_IN_SILENCE NOT_LOOKED_AFTER
// mutants: LEFT_ON_POLLER NOT_ADDED_AGAIN LEAVE_RELAXED EDGES_RELAXED DRAINED_BLINDLY
#include <weft/detail/wait.h>
#include <weft/error.h>

#include "green.h"
#include "model.h"
#if defined(MUTANT_EDGES_RELAXED)
#undef acquire
#define acquire RELAXED_IN("edges", rl::mo_acquire)
#endif
#include "netpoll/poll_desc.h"

// For mutants of a single function.
#define IN(function) (std::strcmp(__func__, function) == 0)

#if defined(MUTANT_EVENT_FOR_ANY)
#define generation_of(word) (static_cast<void>(word), generation)
#elif defined(MUTANT_NUDGED_IN_SILENCE)
#define ready_all(chain) (IN("nudge_for") ? void() : ready_all(chain))
#elif defined(MUTANT_DRAINED_BLINDLY)
#define edges_of(bits) (IN("nudge_for") ? drained_.load(relaxed) : edges_of(bits))
#endif
#include "netpoll/poll_side.cc"
#undef edges_of
#undef generation_of
#undef ready_all

#include "os/fd_calls.h"

namespace weft::detail {

constexpr uint32_t generation = 0;  // for mutants, where no other is in scope

}  // namespace weft::detail
#if defined(MUTANT_COUNTED_IN_PASSING)
#define SELF const_cast<poll_desc*>(this)
#define generation_of(seen) generation_of(IN("enter") ? (SELF->word_.fetch_add(1, acq_rel), SELF->leave(), seen) : seen)
#elif defined(MUTANT_ENTERED_WITH_ANY)
#define generation_of(word) (IN("enter") ? generation : generation_of(word))
#elif defined(MUTANT_CLOSED_WITH_ANY)
#define generation_of(word) (IN("close") ? generation : generation_of(word))
#elif defined(MUTANT_CLOSED_UNDER_CALLS)
#define fetch_sub(n, ...) fetch_sub(n, __VA_ARGS__) & ~users_mask | 1
#define compare_exchange_strong(expected, value, ...) exchange(value, rl::mo_acq_rel, $) != 77
#elif defined(MUTANT_ENDED_BLINDLY)
#define compare_exchange_strong(expected, value, ...) exchange(value, rl::mo_acq_rel, $) != 77
#elif defined(MUTANT_LAST_STAYS)
#define fetch_sub(n, ...) fetch_sub(n, __VA_ARGS__) & ~closing
#elif defined(MUTANT_READERS_FORGOTTEN)
#define wake_all() out.wake_all()
#elif defined(MUTANT_WRITERS_FORGOTTEN)
#define wake_all() in.wake_all()
#elif defined(MUTANT_ABANDONED_IN_SILENCE)
#define wake_all() fd()
#elif defined(MUTANT_RENOUNCED_IN_SILENCE)
#define ready_all(chain) (IN("renounce") ? void() : ready_all(chain))
#elif defined(MUTANT_NOT_LOOKED_AFTER)
#define users_mask (IN("look_after_close") ? 0 : poll_desc::users_mask)
#elif defined(MUTANT_EVICTED_IN_SILENCE)
#define renew_locked() renew_locked() == nullptr ? nullptr : nullptr
#elif defined(MUTANT_BEGUN_TWICE)
#define unused (IN("begin") ? ~uint64_t{0} : poll_desc::unused)
#elif defined(MUTANT_LEFT_ON_POLLER)
#define remove(number) interrupt()
#elif defined(MUTANT_NOT_ADDED_AGAIN)
#define EEXIST -1
#elif defined(MUTANT_LEAVE_RELAXED)
#undef acq_rel
#define acq_rel RELAXED_IN("leave", rl::mo_acq_rel)
#endif
#include "netpoll/poll_desc.cc"
#undef generation_of
#undef fetch_sub
#undef compare_exchange_strong
#undef wake_all
#undef ready_all
#undef users_mask
#undef renew_locked
#undef unused
#undef remove
#undef EEXIST
#define EEXIST 17

#include "net/fd_handle.cc"
#include "net/fd_io.cc"
#include "sched/park.cc"
#include "wait/wait.cc"

namespace {

using namespace model;

constexpr int number = 3;     // of every file here
constexpr int files_max = 4;  // 1, 2 …: they get the number in this order
constexpr int at_once = 2;    // the most that a call takes; less is a short read or write

// In random walks all threads are about equally fast, except those that first wait a while.
bool dawdles = false;

void dawdle() {
    constexpr unsigned while_steps = 30;
    if (!dawdles) return;
    for (unsigned n = while_steps * rl::rand(4); n != 0; --n) rl::ctx().sched();
}

enum direction : int { reading, writing };

enum outcome : int { got_some, found_it_closed, time_was_up };

class poller;

// The system's state for that number. Members that are no variables of the checker belong to the
// kernel, and order nothing.
struct kernel {
    atomic<int> meaning{0};      // the file; 0: none
    guarded<int> life = 0;       // written when a file is opened or closed, read in each call
    int there[files_max][2]{};   // by file and direction
    int closed[files_max]{};     // how often
    bool given_away = false;     // the library does not own the file any longer
    poller* added_to = nullptr;  // where the file is registered …
    uint64_t token = 0;          // … and as what

    int open(int file) {
        const int before = meaning.exchange(file, acq_rel);
        RL_ASSERT(before == 0);
        life = file;
        return number;
    }

    void close() {
        life = 0;
        added_to = nullptr;
        const int file = meaning.exchange(0, acq_rel);
        RL_ASSERT(file != 0);
        ++closed[file];
    }

    // What the number denotes now. (A load could return an older value; an exchange that changes
    // nothing does not.)
    int means() { return meaning.fetch_add(0, relaxed); }

    void await(int file) {
        while (means() != file) rl::yield(1, $);
    }

    // The system call, on what must be that file.
    ssize_t take(int file, direction d) {
        const int meant = means();
        RL_ASSERT(meant == file && !given_away);
        const int lives = life;
        RL_ASSERT(lives == file);
        int& n = there[file][d];
        if (n == 0) return -EAGAIN;
        const int taken = n < at_once ? n : at_once;
        n -= taken;
        return taken;
    }

    void arrive(int file, direction d, int n);
};

struct {
    kernel* system;
    poll_desc* desc;
    poller* own;                     // the runtime's
    poller* outside;                 // that of plain threads
    int file_of[files_max + 2];      // by generation
    uint32_t used_by[threads_max];   // which generation each thread uses
    const void* party[threads_max];  // each thread's G or note
} now;

// A poller, with its own thread.
class poller final : public poll_backend {
public:
    [[nodiscard]] int open() noexcept override { return 0; }

    [[nodiscard]] int add(int /*fd*/, uint64_t token) noexcept override {
        rl::ctx().sched();
        RL_ASSERT(!gone_);
        kernel& k = *now.system;
        const int file = k.means();
        if (file == 0) return EBADF;
        if (k.added_to == this) return EEXIST;
        k.added_to = this;
        k.token = token;
        for (const direction d : {reading, writing})
            if (k.there[file][d] != 0) happen(d);
        return 0;
    }

    void remove(int /*fd*/) noexcept override {
        rl::ctx().sched();
        RL_ASSERT(!gone_);
        if (now.system->added_to == this) now.system->added_to = nullptr;
    }

    [[nodiscard]] uint32_t wait(poll_event* /*events*/, int64_t /*deadline_ns*/) noexcept override { return 0; }

    void interrupt() noexcept override {}

    void happen(direction d) {
        RL_ASSERT(pending_ < pending_max);
        events_[pending_++] = {now.system->token, d == reading ? poll_bits::readable : poll_bits::writable};
        notify();
    }

    // The poller's thread. It returns when the suite's other threads are done, each of which
    // reports that.
    void run(int others) {
        for (;;) {
            if (pending_ != 0) {
                const poll_event next = events_[0];
                --pending_;
                for (int i = 0; i < pending_; ++i) events_[i] = events_[i + 1];
                deliver(next);
            } else if (done_ == others) {
                return;
            } else {
                sleeps_ = true;
                wake_.sleep();
            }
        }
    }

    void one_is_done() {
        ++done_;
        notify();
    }

    // From here on no thread may touch it.
    void end() { gone_ = true; }

    static void deliver(const poll_event& event) {
        waiter* chain = poll_desc::deliver(event);
        for (const waiter* w = chain; w != nullptr; w = w->next) {
            const void* who = static_cast<G*>(w->g);
            if (who == nullptr) who = static_cast<thread_note*>(w->note);
            unsigned t = 0;
            while (now.party[t] != who) ++t;
            RL_ASSERT(now.used_by[t] == event.token >> generation_shift);
        }
        ready_all(chain);
    }

private:
    void notify() {
        if (std::exchange(sleeps_, false)) wake_.call();
    }

    static constexpr int pending_max = 8;
    poll_event events_[pending_max];
    int pending_ = 0;
    int done_ = 0;
    bool sleeps_ = false;
    bool gone_ = false;
    sleeper wake_;
};

void kernel::arrive(int file, direction d, int n) {
    const int meant = means();
    there[file][d] += n;
    if (meant == file && added_to != nullptr) added_to->happen(d);
}

}  // namespace

namespace weft::detail {

poll_desc* poll_desc::of(int fd) noexcept {
    WEFT_ASSERT(fd == number);
    now.desc->fd_ = fd;
    return now.desc;
}

poll_desc* poll_desc::from(int fd) noexcept { return fd <= number ? now.desc : nullptr; }

int os::fd_close(int /*fd*/) noexcept {
    rl::ctx().sched();
    RL_ASSERT(now.system->added_to == nullptr);
    now.system->close();
    return 0;
}

int add_to_own_poller(poll_desc& d) noexcept { return d.home() != nullptr ? 0 : d.add_to(*now.own); }

int add_to_outside_poller(poll_desc& d) noexcept { return d.home() != nullptr ? 0 : d.add_to(*now.outside); }

}  // namespace weft::detail

namespace {

// Shared by the suites: the system, the descriptor, and two sockets that get the number one after
// the other.
template <typename Suite, int Greens, int Plains>
struct with_file : program<Suite, Greens, Plains> {
    kernel system;
    poll_desc desc;
    poller polls;
    fd_handle a;
    fd_handle b;

    with_file() {
        now = {};
        now.system = &system;
        now.desc = &desc;
        now.own = now.outside = &polls;
        static_cast<void>(poll_desc::of(number));
        for (unsigned i = 0; i < Greens; ++i) now.party[i] = &this->gs[i];
        for (unsigned i = Greens; i < Greens + Plains; ++i) now.party[i] = &this->notes[i - Greens];
    }

    void before() { open(a, 1); }

    void after() {
        close_all();
        RL_ASSERT(system.added_to == nullptr);
        RL_ASSERT(desc.in.waiters_for_test() == 0 && desc.out.waiters_for_test() == 0);
    }

    // Handles that are still open close their files. Then each file that was open must have been
    // closed exactly once.
    void close_all() {
        const int meant = system.means();
        { const fd_handle last = std::move(a); }
        { const fd_handle last = std::move(b); }
        const int left = system.means();
        RL_ASSERT(left == 0 || system.given_away);
        RL_ASSERT(meant == 0 || system.given_away || system.closed[meant] == 1);
        for (const int times : system.closed) RL_ASSERT(times <= 1);
    }

    void open(fd_handle& h, int file) {
        h = fd_handle(system.open(file));
        now.file_of[h.generation()] = file;
    }

    // The calling thread's call on h.
    outcome call(const fd_handle& h, direction d, uint32_t* tries = nullptr) {
        const int file = now.file_of[h.generation()];
        now.used_by[rl::ctx().current_thread()] = h.generation();
        const auto attempt = [&] {
            if (tries != nullptr) ++*tries;
            return system.take(file, d);
        };
        const auto is_short = [](std::size_t count) { return count < at_once; };
        return meaning_of(d == reading ? call_in(h, is_short, attempt) : call_out(h, is_short, attempt));
    }

    static outcome meaning_of(const io_result& r) {
        switch (r.ended) {
            case io_result::how::done:
                RL_ASSERT(r.count > 0);
                return got_some;
            case io_result::how::closed:
                return found_it_closed;
            case io_result::how::timed_out:
                return time_was_up;
            default:
                RL_ASSERT(!"a call has failed");
                return time_was_up;
        }
    }

    // Waits for a foreign file, until something can be read.
    outcome wait_borrowed() {
        const uint32_t generation = desc.borrow();
        if (generation == 0) return found_it_closed;
        now.used_by[rl::ctx().current_thread()] = generation;
        const outcome o = wait_in(generation);
        desc.leave();
        return o;
    }

    // The same for a file that stays on the poller, as src/net/foreign_wait.cc does it.
    outcome wait_kept() {
        const uint32_t generation = desc.borrow_kept();
        if (generation == 0) return found_it_closed;
        now.used_by[rl::ctx().current_thread()] = generation;
        const outcome o = wait_kept_in(generation);
        desc.in.pass_on();
        desc.leave();
        return o;
    }

    outcome wait_kept_in(uint32_t generation) {
        for (;;) {
            const uint32_t seen = desc.in.edges();
            const int file = system.means();
            if (file != 0 && system.there[file][reading] != 0) return got_some;
            if (!desc.is_open(generation)) return found_it_closed;
            const int error = desc.add_anew(*now.own);
            if (error == EBADF) return found_it_closed;
            RL_ASSERT(error == 0);
            const wait_result r = desc.in.wait_after(seen, wait_reason::fd_readable, never);
            RL_ASSERT(r == wait_result::served);
        }
    }

    outcome wait_in(uint32_t generation) {
        for (;;) {
            const uint32_t seen = desc.in.edges();
            if (!desc.is_open(generation)) return found_it_closed;
            const int file = system.means();
            if (file != 0 && system.there[file][reading] != 0) {
                desc.in.pass_on();
                return got_some;
            }
            const int error = add_to_own_poller(desc);
            if (error == EBADF) return found_it_closed;
            RL_ASSERT(error == 0);
            const wait_result r = desc.in.wait_after(seen, wait_reason::fd_readable, never);
            RL_ASSERT(r == wait_result::served);
        }
    }
};

// Closing wakes both directions. The last call to leave closes the file.
struct closing_one : with_file<closing_one, 1, 2> {
    void run(unsigned me) {
        dawdle();
        if (me == 2) {
            a.close();
        } else {
            const outcome o = call(a, me == 0 ? reading : writing);
            RL_ASSERT(o == found_it_closed);
        }
    }
};

// Two threads close it while another reads.
struct closing_twice : with_file<closing_twice, 0, 3> {
    void run(unsigned me) {
        dawdle();
        if (me != 2) {
            a.close();
            RL_ASSERT(!a.is_open());
            return;
        }
        system.arrive(1, reading, 1);
        const outcome o = call(a, reading);
        RL_ASSERT(o == got_some || o == found_it_closed);
    }
};

// Data arrives while one thread waits, tries, or is about to be added, and another one closes.
template <bool Closes>
struct arriving : with_file<arriving<Closes>, 1, Closes ? 2 : 1> {
    using base = with_file<arriving<Closes>, 1, Closes ? 2 : 1>;

    void run(unsigned me) {
        dawdle();
        if (me == 0) {
            const outcome o = base::call(base::a, reading);
            RL_ASSERT(o == got_some || (Closes && o == found_it_closed));
            base::polls.one_is_done();
        } else if (me == 1) {
            base::system.arrive(1, reading, 1);
            base::polls.run(1);
        } else {
            base::a.close();
        }
    }
};

// A short read, and what arrives after it. With Moves, a new deadline at the same time, which must
// not hide that either.
template <bool Moves>
struct drained : with_file<drained<Moves>, 1, Moves ? 2 : 1> {
    using base = with_file<drained<Moves>, 1, Moves ? 2 : 1>;
    using base::a, base::call, base::polls, base::system;

    void run(unsigned me) {
        dawdle();
        if (me == 2) {
            a.set_read_deadline(never);
        } else if (me == 0) {
            for (int i = 0; i < 2; ++i) {
                const outcome o = call(a, reading);
                RL_ASSERT(o == got_some);
                if (i == 0) system.arrive(1, reading, 1);
            }
            polls.one_is_done();
        } else {
            system.arrive(1, reading, 1);
            polls.run(1);
        }
    }
};

// The number is reused at once, after the closing by the call itself or by the other thread, while
// calls on the previous file begin. It is then closed once more.
struct used_again : with_file<used_again, 0, 3> {
    void run(unsigned me) {
        dawdle();
        if (me == 0) {
            a.close();
            system.await(0);
            open(b, 2);
            system.arrive(2, reading, 1);
            const outcome o = call(b, reading);
            RL_ASSERT(o == got_some);
        } else if (me == 1) {
            system.arrive(1, reading, 1);
            const outcome o = call(a, reading);
            RL_ASSERT(o == got_some || o == found_it_closed);
        } else {
            a.close();
        }
    }
};

// The same, with an event of the previous file that is still on its way, and reports a hang-up.
struct late_event : with_file<late_event, 1, 2> {
    poll_event late{};

    void before() {
        open(a, 1);
        const int error = desc.add_to(polls);
        RL_ASSERT(error == 0);
        late = {system.token, poll_bits::readable | poll_bits::hung_up};
    }

    void run(unsigned me) {
        dawdle();
        if (me == 0) {
            a.close();
            open(b, 2);
            const outcome o = call(b, reading);
            RL_ASSERT(o == got_some);
            const uint32_t seen = desc.in.edges();
            RL_ASSERT(desc.in.is_drained(seen));
            polls.one_is_done();
        } else if (me == 1) {
            system.arrive(2, reading, 1);
            polls.run(2);
        } else {
            poller::deliver(late);
            polls.one_is_done();
        }
    }
};

// The number is given away, and stays open. That cannot happen while it is in use, but is possible
// whatever happens to a socket that had it before.
struct detached : with_file<detached, 0, 3> {
    void before() {
        open(a, 1);
        a.close();
        open(b, 2);
        system.arrive(2, reading, 1);
    }

    void run(unsigned me) {
        dawdle();
        if (me == 0) {
            system.given_away = b.detach() == number;
        } else {
            const outcome o = call(a, me == 1 ? reading : writing);
            RL_ASSERT(o == found_it_closed);
        }
    }

    void after() {
        RL_ASSERT(system.given_away);
        close_all();
    }
};

struct detached_in_use : with_file<detached_in_use, 0, 2> {
    void run(unsigned me) {
        dawdle();
        if (me == 0) {
            system.given_away = desc.detach(a.generation()) == number;
        } else {
            system.arrive(1, reading, 1);
            const outcome o = call(a, reading);
            RL_ASSERT(o == got_some || o == found_it_closed);
        }
    }
};

// A deadline is set for a call that already waits.
struct deadline_moved : with_file<deadline_moved, 1, 1> {
    void run(unsigned me) {
        dawdle();
        if (me == 0) {
            const outcome o = call(a, reading);
            RL_ASSERT(o == time_was_up);
        } else {
            a.set_read_deadline(long_ago);
        }
    }
};

// The poller to which the file was added ends, and waiters move to another one. With Closes, the
// file is closed at the same time.
template <bool Closes>
struct abandoned_poller : with_file<abandoned_poller<Closes>, 0, 3> {
    using base = with_file<abandoned_poller<Closes>, 0, 3>;
    using base::a;
    using base::polls;
    using base::system;
    poller ends;

    void before() {
        base::open(a, 1);
        const int error = base::desc.add_to(ends);
        RL_ASSERT(error == 0);
    }

    void run(unsigned me) {
        dawdle();
        if (me == 0) {
            poll_desc::abandon(ends);
            ends.end();
            system.added_to = system.added_to == &ends ? nullptr : system.added_to;
            if (Closes) a.close();
        } else if (me == 1) {
            const outcome o = base::call(a, reading);
            RL_ASSERT(o == (Closes ? found_it_closed : got_some));
            polls.one_is_done();
        } else {
            if (!Closes) system.arrive(1, reading, 1);
            polls.run(1);
        }
    }
};

// A thread waits for a foreign file. The owner closes it, and one of our files gets the number.
struct evicted : with_file<evicted, 0, 3> {
    void before() { static_cast<void>(system.open(1)); }

    void run(unsigned me) {
        dawdle();
        if (me == 0) {
            const outcome o = wait_borrowed();
            RL_ASSERT(o == found_it_closed || o == got_some);
            polls.one_is_done();
        } else if (me == 1) {
            system.close();
            open(b, 2);
            const outcome o = call(b, reading);
            RL_ASSERT(o == got_some);
            b.close();
            polls.one_is_done();
        } else {
            system.arrive(2, reading, 1);
            polls.run(2);
        }
    }
};

// A foreign file had the number before, was waited for, and lives on under another number. It is
// still on the poller, but its events are marked as those of the previous file.
struct added_before : with_file<added_before, 0, 2> {
    void before() {
        static_cast<void>(system.open(1));
        system.added_to = &polls;
        system.token = number;
        system.given_away = true;
    }

    void run(unsigned me) {
        dawdle();
        if (me == 0) {
            const outcome o = wait_borrowed();
            RL_ASSERT(o == got_some);
            polls.one_is_done();
        } else {
            system.arrive(1, reading, 1);
            polls.run(1);
        }
    }

    void after() { close_all(); }
};

// A foreign file, waited for or not, is closed with notice. The next foreign file gets the number,
// and is waited for.
struct renounced : with_file<renounced, 0, 3> {
    void before() { static_cast<void>(system.open(1)); }

    void run(unsigned me) {
        dawdle();
        if (me == 0) {
            static_cast<void>(wait_kept());  // found it closed, or waited for the next file
            polls.one_is_done();
        } else if (me == 1) {
            static_cast<void>(desc.renounce());
            system.close();
            desc.look_after_close();
            dawdle();
            static_cast<void>(system.open(2));
            const outcome o = wait_kept();
            RL_ASSERT(o == got_some);
            polls.one_is_done();
        } else {
            system.await(2);
            dawdle();
            system.arrive(2, reading, 1);
            polls.run(2);
        }
    }

    void after() {
        static_cast<void>(desc.renounce());
        RL_ASSERT(system.added_to == nullptr);
        RL_ASSERT(desc.in.waiters_for_test() == 0 && desc.out.waiters_for_test() == 0);
        system.given_away = true;
        close_all();
    }
};

// A kept file is waited for and then closed with notice; nothing has its number after that.
struct renounced_for_good : with_file<renounced_for_good, 0, 2> {
    void before() { static_cast<void>(system.open(1)); }

    void run(unsigned me) {
        dawdle();
        if (me == 0) {
            const outcome o = wait_kept();
            RL_ASSERT(o == found_it_closed);
        } else {
            static_cast<void>(desc.renounce());
            dawdle();
            system.close();
            desc.look_after_close();
        }
    }

    void after() {
        RL_ASSERT(desc.in.waiters_for_test() == 0);
        close_all();
    }
};

// A kept file was closed without notice, and the number means another one since.
struct closed_unnoticed : with_file<closed_unnoticed, 0, 2> {
    void before() {
        static_cast<void>(system.open(1));
        static_cast<void>(desc.borrow_kept());
        RL_ASSERT(desc.add_anew(polls) == 0);
        desc.leave();
        system.close();
        static_cast<void>(system.open(2));
    }

    void run(unsigned me) {
        dawdle();
        if (me == 0) {
            const outcome o = wait_kept();
            RL_ASSERT(o == got_some);
            polls.one_is_done();
        } else {
            system.arrive(2, reading, 1);
            polls.run(1);
        }
    }

    void after() {
        static_cast<void>(desc.renounce());
        RL_ASSERT(system.added_to == nullptr);
        system.given_away = true;
        close_all();
    }
};

// Two threads use a foreign file, each twice.
struct borrowed_twice : with_file<borrowed_twice, 0, 2> {
    void before() { static_cast<void>(system.open(1)); }

    void run(unsigned) {
        for (int i = 0; i < 2; ++i) {
            const uint32_t generation = desc.borrow();
            RL_ASSERT(generation != 0);
            RL_ASSERT(desc.is_open(generation));
            if (i == 0) RL_ASSERT(add_to_own_poller(desc) == 0);
            desc.leave();
        }
    }

    void after() {
        RL_ASSERT(system.closed[1] == 0 && system.added_to == nullptr);
        system.given_away = true;
        close_all();
    }
};

}  // namespace

int main() {
    constexpr search walks = random(200'000);
#if defined(MUTANT_ABANDONED_IN_SILENCE)
    return check<abandoned_poller<false>>("its poller ends", walks) ? 0 : 1;
#endif
    bool ok = check<added_before>("not ours, and added before", switches(2)) &&  //
              check<closing_twice>("closed by two", switches(1)) &&              //
              check<arriving<false>>("something comes", switches(2)) &&          //
              check<detached>("given away", switches(2)) &&                      //
              check<detached_in_use>("given away, or used", switches(3)) &&      //
              check<deadline_moved>("a deadline is set", switches(1)) &&         //
              check<borrowed_twice>("not ours, used by two", switches(1)) &&     //
              check<closed_unnoticed>("kept, and closed unnoticed", switches(2));
    dawdles = true;
    ok = ok && check<closing_one>("closed", walks) &&                                  //
         check<closing_twice>("closed by two", walks) &&                               //
         check<arriving<true>>("something comes, and it is closed", walks) &&          //
         check<drained<false>>("a short read", walks) &&                               //
         check<drained<true>>("a short read, and a deadline is set", walks) &&         //
         check<used_again>("its number is used again", walks) &&                       //
         check<late_event>("an event of the file before", walks) &&                    //
         check<abandoned_poller<false>>("its poller ends", walks) &&                   //
         check<abandoned_poller<true>>("its poller ends, and it is closed", walks) &&  //
         check<evicted>("not ours, and closed by its owner", walks) &&                 //
         check<renounced_for_good>("kept, and closed", walks) &&                       //
         check<renounced>("kept, closed, and used again", walks);
    return ok ? 0 : 1;
}
