// select_model.cc: select.
//
// - A select does exactly one of its cases. What it sends or receives is received or sent once.
// - No thread waits for ever while a partner waits too.
// - A finished select is in no queue.
//
// src/sync/select.cc, weft/detail/chan_state.h, all of src/wait/wait.cc and chan_close are compiled
// as they are.
//
// mutants: LOCKS_UNSORTED UNLOCKED LOSERS_LEFT WINNER_MISTAKEN TOUCHED_AFTER_READY CLAIM_BLINDLY COUNT_NOT_MARKED
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <iterator>
#include <source_location>
#include <variant>

#include "model.h"

#if defined(MUTANT_CLAIM_BLINDLY)
#define compare_exchange_weak(expected, value, ...) exchange(value, rl::mo_acq_rel, $) != 77777
#endif
#include <weft/detail/wait.h>
#undef compare_exchange_weak
#include <weft/error.h>

#include "green.h"
#if defined(MUTANT_TOUCHED_AFTER_READY)
#define ready(w) ready(w), rl::ctx().sched(), static_cast<void>(static_cast<bool>((w).ok))
#endif
#include <weft/detail/chan_state.h>
#undef ready
#include <weft/chan.h>
#include <weft/future.h>
#include <weft/select.h>
#include <weft/time.h>

#include "sched/park.cc"
#if defined(MUTANT_WINNER_MISTAKEN)
#define winner() winner() * 0
#endif
#include "wait/wait.cc"
#undef winner

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
#include "sync/sync.cc"
#undef atomic

#if defined(MUTANT_LOCKS_UNSORTED)
namespace weft::detail {
// An overload for locks that are not const: those that are sorted.
inline uintptr_t address_as_the_thread_likes(guarded_word* lock) {
    const auto n = reinterpret_cast<uintptr_t>(lock);
    return rl::ctx().current_thread() == 0 ? n : ~n;
}
}  // namespace weft::detail

#define address address_as_the_thread_likes
#elif defined(MUTANT_UNLOCKED)
#define lock_bits() word().load(relaxed)
#elif defined(MUTANT_LOSERS_LEFT)
#define remove(w) front()
#elif defined(MUTANT_COUNT_NOT_MARKED)
#define waiting_bit waiting_bit * 0
#endif
#include "sync/select.cc"
#undef address
#undef lock_bits
#undef remove
#undef waiting_bit

namespace weft::detail {
int os::current_tid() noexcept { return 1; }

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

constexpr int channels = 2;
constexpr int values = 4;

// The blocks of the channels of an execution.
struct {
    alignas(64) std::byte block[channels][1024];
    int in_use;
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

}  // namespace

void* operator new(std::size_t size, std::align_val_t /*align*/) {
    RL_ASSERT(memory.in_use < channels && size <= sizeof(memory.block[0]));
    return memory.block[memory.in_use++];
}

void operator delete(void* /*block*/, std::align_val_t /*align*/) noexcept { --memory.in_use; }

namespace {

// Two channels, and counts of what went through them. Numbers are 1, 2, 3.
template <typename Suite, int Capacity, int Greens, int Plains>
struct suite : program<Suite, Greens, Plains> {
    std::optional<chan<value>> c[channels];
    int sent[values] = {};
    int received[values] = {};

    suite() {
        memory.in_use = 0;
        alive = 0;
        for (auto& one : c) one.emplace(static_cast<std::size_t>(Capacity));
    }

    void send(int to, int n) {
        value v(n);
        RL_ASSERT(c[to]->send_until(std::move(v), std::chrono::steady_clock::time_point::max()) == chan_status::ok);
        ++sent[n];
    }

    void try_send(int to, int n) {
        value v(n);
        if (c[to]->try_send(std::move(v)) == chan_status::ok) ++sent[n];
    }

    void book(std::optional<value>& v) {
        RL_ASSERT(v.has_value() && v->number > 0);
        ++received[static_cast<int>(v->number)];
    }

    // Receives from either channel.
    void recv_any() {
        auto r = weft::select(weft::recv_case(*c[0]), weft::recv_case(*c[1]));
        if (r.index() == 0) book(std::get<0>(r));
        if (r.index() == 1) book(std::get<1>(r));
    }

    // Sends n to one channel or receives from the other, which may be the same.
    void send_or_recv(int to, int n, int from) {
        value v(n);
        auto r = weft::select(weft::send_case(*c[to], std::move(v)), weft::recv_case(*c[from]));
        RL_ASSERT((v.number == 0) == (r.index() == 0));
        if (r.index() == 0) ++sent[n];
        if (r.index() == 1) book(std::get<1>(r));
    }

    void after() {
        for (auto& one : c) {
            while (one->len() != 0) {
                auto r = one->try_recv();
                book(r.value);
            }
        }
        for (int n = 1; n < values; ++n) RL_ASSERT(received[n] == sent[n] && sent[n] <= 1);
        for (auto& one : c) {
            auto* state = chan_access::state(*one);
            RL_ASSERT(state->receivers.empty() && state->senders.empty());
            one.reset();
        }
        RL_ASSERT(memory.in_use == 0 && alive == 0);
    }
};

// A select receives from two senders, one after the other.
template <int Capacity>
struct two_senders : suite<two_senders<Capacity>, Capacity, 1, 2> {
    void run(unsigned me) {
        if (me == 0) {
            this->recv_any();
            this->recv_any();
        } else {
            this->send(static_cast<int>(me) - 1, static_cast<int>(me));
        }
    }
};

// The same for a plain thread that selects.
struct plain_select : suite<plain_select, 0, 0, 3> {
    void run(unsigned me) {
        if (me == 0) {
            recv_any();
            recv_any();
        } else {
            send(static_cast<int>(me) - 1, static_cast<int>(me));
        }
    }
};

// Two selects on the same channel, each of which may send and receive. One does this, the other
// that.
struct both_ways : suite<both_ways, 0, 2, 0> {
    void run(unsigned me) { send_or_recv(0, static_cast<int>(me) + 1, 0); }

    void after() {
        RL_ASSERT(sent[1] + sent[2] == 1);
        suite::after();
    }
};

// Two selects that meet on either of two channels, which they name in opposite order.
struct crossing : suite<crossing, 0, 2, 0> {
    void run(unsigned me) { send_or_recv(static_cast<int>(me), static_cast<int>(me) + 1, 1 - static_cast<int>(me)); }

    void after() {
        RL_ASSERT(sent[1] + sent[2] == 1);
        suite::after();
    }
};

// A select whose deadline passes, against a thread that sends if there is a receiver.
struct deadline : suite<deadline, 0, 1, 2> {
    void run(unsigned me) {
        if (me == 0) {
            auto r = weft::select(
                weft::recv_case(*c[0]), weft::recv_case(*c[1]),
                weft::timeout_case(std::chrono::steady_clock::time_point{std::chrono::nanoseconds{some_time}}));
            if (r.index() == 0) book(std::get<0>(r));
            if (r.index() == 1) book(std::get<1>(r));
        }
        if (me == 1) try_send(1, 1);
        if (me == 2) fire(0);
    }
};

// Both channels are closed. What was sent before that is not lost.
struct closing : suite<closing, 1, 1, 2> {
    void run(unsigned me) {
        if (me == 0) {
            auto r = weft::select(weft::recv_case(*c[0]), weft::recv_case(*c[1]));
            std::optional<value>& v = r.index() == 0 ? std::get<0>(r) : std::get<1>(r);
            if (v) book(v);
        }
        if (me == 1) {
            try_send(0, 1);
            c[0]->close();
        }
        if (me == 2) c[1]->close();
    }
};

// A select on a count that becomes zero, and a channel.
struct counting : suite<counting, 0, 1, 2> {
    count_word count;

    counting() { count.increment(); }

    void run(unsigned me) {
        if (me == 0) {
            select_case cases[2];
            held_lock locks[2];
            std::optional<value> v;
            chan_recv_case<value>::prepare(cases[0], chan_access::state(*c[0]), v);
            count_select_case::prepare(cases[1], count);
            select_request request{.cases = cases, .count = 2, .locks = locks};
            const std::size_t chosen = select_among(request);
            RL_ASSERT(chosen < 2);
            if (chosen == 0) book(v);
        }
        if (me == 1) count.decrement();
        if (me == 2) try_send(0, 1);
    }

    void after() {
        RL_ASSERT(count.is_zero() && count.waiters().empty());
        suite::after();
    }
};

}  // namespace

int main() {
    const bool ok = check<two_senders<0>>("two unbuffered senders", random(300'000)) &&  //
                    check<two_senders<1>>("two buffered senders", random(300'000)) &&    //
                    check<plain_select>("a plain thread selects", random(300'000)) &&    //
                    check<both_ways>("both ways on one channel", random(300'000)) &&     //
                    check<crossing>("crossing on two channels", random(300'000)) &&      //
                    check<deadline>("a deadline against a sender", random(300'000)) &&   //
                    check<closing>("both channels are closed", random(300'000)) &&       //
                    check<counting>("a count and a channel", random(300'000));
    return ok ? 0 : 1;
}
