// chan_model.cc: channels.
//
// - What is sent is received once and in order.
// - Closing wakes every waiter and loses nothing.
// - An operation whose deadline passes has either happened or not.
//
// weft/chan.h, chan_close in src/sync/sync.cc and all of src/wait/wait.cc are compiled as they are.
// Values are checked variables. A channel's memory is overwritten once its last handle is gone.
//
// mutants: LOCK_RELAXED UNLOCK_RELAXED UNLOCKED WAITER_LEFT_LINKED REFILL_SKIPPED
// mutants: CLOSE_FORGETS_SENDERS CLOSE_FORGETS_RECEIVERS CLOSE_WAKES_ONE TIMEOUT_ALWAYS TIMEOUT_IS_OK
#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <iterator>
#include <source_location>
#include <variant>

#include "model.h"

#if defined(MUTANT_LOCK_RELAXED)
#undef acquire
#define acquire RELAXED_IN("lock", rl::mo_acquire)
#elif defined(MUTANT_UNLOCK_RELAXED)
#undef release
#define release RELAXED_IN("unlock", rl::mo_release)
#endif
#include <weft/detail/wait.h>
#include <weft/error.h>

#include "green.h"
#if defined(MUTANT_UNLOCKED)
#define lock() word()
#define unlock() word()
#elif defined(MUTANT_WAITER_LEFT_LINKED)
#define pop_claimed() front()
#elif defined(MUTANT_REFILL_SKIPPED)
#define empty() empty() || count != 0
#elif defined(MUTANT_TIMEOUT_ALWAYS)
#define wait_cancellable(...) \
    std::max(wait_cancellable(__VA_ARGS__), deadline_ns == never ? wait_result::served : wait_result::timed_out)
#elif defined(MUTANT_TIMEOUT_IS_OK)
namespace weft::detail {
inline wait_result timed_out_is_ok(waiter& w, wait_result r) noexcept {
    if (r != wait_result::timed_out) return r;
    w.ok = true;
    return wait_result::served;
}
}  // namespace weft::detail

#define wait_cancellable(...) timed_out_is_ok(me, wait_cancellable(__VA_ARGS__))
#endif
#include <weft/detail/chan_state.h>
#undef lock
#undef unlock
#undef pop_claimed
#undef empty
#undef wait_cancellable
#include <weft/chan.h>
#include <weft/future.h>
#include <weft/time.h>

#include "sched/park.cc"
#include "wait/wait.cc"

// Of sync.cc only chan_close is needed. The atomic hook in it is not for the checker.
namespace weft::detail {
template <typename T>
struct plain_variable {
    constexpr explicit plain_variable(T value) : it(value) {}

    T load(rl::memory_order, rl::debug_info_param) { return it; }

    T exchange(T value, rl::memory_order, rl::debug_info_param) { return std::exchange(it, value); }

    T it;
};
}  // namespace weft::detail

#define atomic plain_variable
#if defined(MUTANT_CLOSE_FORGETS_SENDERS)
#define ready_all(chain) MUTATED_##chain
#define MUTATED_receivers (ready_all)(receivers)
#define MUTATED_senders static_cast<void>(senders)
#elif defined(MUTANT_CLOSE_FORGETS_RECEIVERS)
#define ready_all(chain) MUTATED_##chain
#define MUTATED_receivers static_cast<void>(receivers)
#define MUTATED_senders (ready_all)(senders)
#elif defined(MUTANT_CLOSE_WAKES_ONE)
#define ready_all(chain) \
    if (chain != nullptr) ready(*chain)
#endif
#include "sync/sync.cc"
#undef atomic
#undef ready_all

namespace weft::detail {
void warn(const char* /*format*/, ...) noexcept {}
}  // namespace weft::detail

namespace weft::detail {

// For waiters on futures, which this model does not have.
owner current_owner() noexcept { return {nullptr, 0}; }

}  // namespace weft::detail

namespace {

using namespace model;
using weft::chan;
using weft::chan_status;

// The block of the only channel of an execution.
struct {
    alignas(64) std::byte block[1024];
    bool in_use;
} memory;

// The number of live values.
int alive;

struct value {
    explicit value(int n) : number(n) { ++alive; }

    value(value&& other) noexcept : number(static_cast<int>(other.number)) {
        other.number = 0;
        ++alive;
    }

    ~value() { --alive; }

    guarded<int> number;
};

constexpr std::chrono::steady_clock::time_point soon{std::chrono::nanoseconds{some_time}};
constexpr auto no_end = std::chrono::steady_clock::time_point::max();

}  // namespace

void* operator new(std::size_t size, std::align_val_t /*align*/) {
    RL_ASSERT(!memory.in_use && size <= sizeof(memory.block));
    memory.in_use = true;
    return memory.block;
}

void operator delete(void* block, std::align_val_t /*align*/) noexcept {
    RL_ASSERT(memory.in_use && block == memory.block);
    memory.in_use = false;
    std::memset(memory.block, 0xdd, sizeof(memory.block));
}

namespace {

// Counts what was sent and received by number. Numbers are 1, 2, 3 …
template <typename Suite, int Capacity, int Greens, int Plains>
struct suite : program<Suite, Greens, Plains> {
    std::optional<chan<value>> c;
    int sent[4] = {};
    int received[4] = {};

    suite() {
        memory.in_use = false;
        alive = 0;
        c.emplace(static_cast<std::size_t>(Capacity));
    }

    chan_status send(int n, std::chrono::steady_clock::time_point deadline = no_end) {
        value v(n);
        const chan_status status = c->send_until(std::move(v), deadline);
        RL_ASSERT(v.number == (status == chan_status::ok ? 0 : n));
        if (status == chan_status::ok) ++sent[n];
        return status;
    }

    void try_send(int n) {
        value v(n);
        if (c->try_send(std::move(v)) == chan_status::ok) ++sent[n];
    }

    // Returns the number received, 0 if none was.
    int recv(std::chrono::steady_clock::time_point deadline = no_end) {
        auto result = c->recv_until(deadline);
        RL_ASSERT(result.value.has_value() == (result.status == chan_status::ok));
        RL_ASSERT(result.status != chan_status::timed_out || deadline != no_end);
        if (!result) return 0;
        const int n = result->number;
        RL_ASSERT(n > 0);
        ++received[n];
        return n;
    }

    void after() {
        while (c->len() != 0) recv();
        for (int n = 1; n < 4; ++n) RL_ASSERT(received[n] == sent[n] && sent[n] <= 1);
        c.reset();
        RL_ASSERT(!memory.in_use && alive == 0);
    }
};

// A green sender and a plain receiver, or the other way round: values arrive in order. What fits
// the buffer needs no receiver.
template <int Capacity, bool GreenSends, int Sends, int Receives>
struct in_order : suite<in_order<Capacity, GreenSends, Sends, Receives>, Capacity, 1, 1> {
    void run(unsigned me) {
        const bool sends = (me == 0) == GreenSends;
        for (int n = 1; n <= (sends ? Sends : Receives); ++n) {
            if (sends) {
                const chan_status status = this->send(n);
                RL_ASSERT(status == chan_status::ok);
            } else {
                const int got = this->recv();
                RL_ASSERT(got == n);
            }
        }
    }
};

// Two senders, one receiver, all green.
template <int Capacity>
struct two_senders : suite<two_senders<Capacity>, Capacity, 3, 0> {
    void run(unsigned me) {
        if (me < 2) {
            const chan_status status = this->send(static_cast<int>(me) + 1);
            RL_ASSERT(status == chan_status::ok);
        } else {
            const int first = this->recv();
            const int second = this->recv();
            RL_ASSERT(first + second == 3);
        }
    }
};

// The sender closes after two values; a green and a plain thread receive until the end.
template <int Capacity>
struct closed_by_sender : suite<closed_by_sender<Capacity>, Capacity, 2, 1> {
    void run(unsigned me) {
        if (me == 0) {
            this->send(1);
            this->send(2);
            this->c->close();
        } else {
            int last = 0;
            while (const int n = this->recv()) {
                RL_ASSERT(n > last);
                last = n;
            }
            RL_ASSERT(this->c->closed());
        }
    }

    void after() {
        RL_ASSERT(this->received[1] == 1 && this->received[2] == 1);
        suite<closed_by_sender, Capacity, 2, 1>::after();
    }
};

// Two senders, and another thread closes. What was accepted before can still be received.
template <int Capacity>
struct closed_by_another : suite<closed_by_another<Capacity>, Capacity, 1, 2> {
    void run(unsigned me) {
        if (me < 2) {
            const chan_status status = this->send(static_cast<int>(me) + 1);
            RL_ASSERT(status == chan_status::ok || status == chan_status::closed);
        } else {
            this->c->close();
        }
    }
};

// A green receiver with a deadline against a sender that does not wait.
struct late_receiver : suite<late_receiver, 0, 1, 2> {
    void run(unsigned me) {
        if (me == 0) recv(soon);
        if (me == 1) try_send(1);
        if (me == 2) fire(0);
    }
};

// A green sender with a deadline, behind a buffered value, against a receiver.
struct late_sender : suite<late_sender, 1, 1, 2> {
    void run(unsigned me) {
        if (me == 0) {
            send(1);
            send(2, soon);
        }
        if (me == 1) {
            const int n = recv();
            RL_ASSERT(n == 1);
        }
        if (me == 2) fire(0);
    }
};

// A plain receiver with a deadline against two senders.
struct late_thread : suite<late_thread, 1, 0, 3> {
    void run(unsigned me) {
        if (me == 0) recv(soon);
        if (me != 0) try_send(static_cast<int>(me));
    }
};

// Each thread has a handle. The last one to be dropped destroys the channel and what is buffered.
struct last_handle : program<last_handle, 0, 3> {
    std::optional<chan<value>> handles[3];

    last_handle() {
        memory.in_use = false;
        alive = 0;
        handles[0].emplace(std::size_t{1});
        handles[1] = handles[0];
        handles[2] = handles[0];
    }

    void run(unsigned me) {
        if (me == 0) static_cast<void>(handles[me]->try_send(value(1)));
        if (me == 1) static_cast<void>(handles[me]->try_recv());
        handles[me].reset();
    }

    void after() { RL_ASSERT(!memory.in_use && alive == 0); }
};

}  // namespace

int main() {
    const bool ok = check<in_order<0, true, 2, 2>>("unbuffered, a green thread sends", switches(4)) &&     //
                    check<in_order<0, false, 2, 2>>("unbuffered, a plain thread sends", switches(4)) &&    //
                    check<in_order<1, true, 3, 2>>("one slot, a green thread sends", switches(4)) &&       //
                    check<in_order<1, false, 3, 2>>("one slot, a plain thread sends", switches(4)) &&      //
                    check<two_senders<0>>("unbuffered, two senders", random(300'000)) &&                   //
                    check<two_senders<1>>("one slot, two senders", random(300'000)) &&                     //
                    check<closed_by_sender<0>>("unbuffered, closed by the sender", random(300'000)) &&     //
                    check<closed_by_sender<1>>("one slot, closed by the sender", random(300'000)) &&       //
                    check<closed_by_another<0>>("unbuffered, senders are closed out", random(300'000)) &&  //
                    check<closed_by_another<1>>("one slot, senders are closed out", random(300'000)) &&    //
                    check<late_receiver>("a receiver's deadline", switches(1)) &&
                    check<late_receiver>("a receiver's deadline", random(300'000)) &&  //
                    check<late_sender>("a sender's deadline", random(300'000)) &&      //
                    check<late_thread>("a plain receiver's deadline", switches(1)) &&
                    check<late_thread>("a plain receiver's deadline", random(500'000)) &&  //
                    check<last_handle>("the last handle", switches(3));
    return ok ? 0 : 1;
}
