// turns.cc: see turns.h.
#include "turns.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>

#include "stepped_atomic.h"

namespace stepped {

// std::binary_semaphore would call syscall(), which is replaced.
class turn {
public:
    void give() noexcept { sem_post(&semaphore_); }

    void await() noexcept {
        while (sem_wait(&semaphore_) != 0) {}
    }

private:
    sem_t semaphore_{};
};

struct controlled {
    turn its_turn;
    unsigned number = 0;
    waits_for state = waits_for::nothing;
    const void* word = nullptr;
    int fd = -1;
    const controlled* other = nullptr;
    int64_t deadline_ns = for_ever;
    uintptr_t handle = 0;
    int tid = 0;
    uint64_t steps = 0;
    int64_t computed_ns = 0;
    uint64_t priority = 0;
    bool inside = false;  // in a function of this file
};

namespace {

constexpr int64_t step_ns = 20;
constexpr unsigned threads_most = 64;
constexpr unsigned steps_kept = 4096;
constexpr unsigned steps_printed = 120;
constexpr unsigned longest_run = 3000;  // steps; a loop that waits for another thread ends by that
constexpr int failed_status = 3;

struct kept_step {
    const void* place;
    unsigned thread;
};

// How the next thread is chosen.
enum class strategy : uint8_t {
    walk,        // after each step, one of mean_run, any thread is as likely
    priorities,  // the one with the highest random priority, which it loses at random steps
};

struct {
    std::array<controlled, threads_most> threads;
    unsigned count = 0;
    std::minstd_rand random;
    strategy chosen = strategy::walk;
    unsigned mean_run = 8;
    uint64_t lowest_priority = 0;
    unsigned spurious = 0;
    uint64_t steps = 0;
    uint64_t most_steps = 0;
    int64_t now = 1'000'000'000;
    int64_t most_ns = 0;
    unsigned run_length = 0;
    std::array<kept_step, steps_kept> kept;
    bool failing = false;
} all;

thread_local controlled* mine = nullptr;

unsigned below(unsigned n) noexcept { return static_cast<unsigned>(all.random() % n); }

const char* text_of(waits_for w) noexcept {
    switch (w) {
        case waits_for::nothing:
            return "could run";
        case waits_for::word:
            return "waits for a word";
        case waits_for::time:
            return "sleeps";
        case waits_for::thread:
            return "joins a thread";
        case waits_for::events:
            return "waits for events";
        case waits_for::end:
            return "has ended";
    }
    return "";
}

bool has_events(int fd) noexcept {
    pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
    return poll(&one, 1, 0) > 0;
}

bool may_run(const controlled& t) noexcept {
    switch (t.state) {
        case waits_for::nothing:
            return true;
        case waits_for::end:
            return false;
        case waits_for::thread:
            return t.other->state == waits_for::end;
        case waits_for::events:
            if (has_events(t.fd)) return true;
            break;
        case waits_for::word:
        case waits_for::time:
            break;
    }
    return t.deadline_ns <= all.now;
}

// The thread that runs next: not `from`, if another one can. Advances the time if none can.
controlled& choose(const controlled* from) noexcept {
    for (;;) {
        std::array<controlled*, threads_most> found{};
        unsigned count = 0;
        for (unsigned i = 0; i != all.count; ++i) {
            controlled& t = all.threads[i];
            if (&t != from && may_run(t)) found[count++] = &t;
        }
        if (count == 0 && from != nullptr && may_run(*from)) return *const_cast<controlled*>(from);
        if (count != 0 && all.chosen == strategy::walk) return *found[below(count)];
        if (count != 0) {
            return **std::max_element(
                found.begin(), found.begin() + count,
                [](const controlled* a, const controlled* b) { return a->priority < b->priority; });
        }
        int64_t first = for_ever;
        for (unsigned i = 0; i != all.count; ++i) {
            const controlled& t = all.threads[i];
            if (t.state != waits_for::end && t.state != waits_for::nothing) first = std::min(first, t.deadline_ns);
        }
        if (first == for_ever) fail("all threads wait, and nothing can end that");
        all.now = std::max(all.now, first);
        if (all.now > all.most_ns) fail("the virtual time is over");
    }
}

void lose_priority(controlled& t) noexcept { t.priority = --all.lowest_priority; }

void pass_to(controlled& from, controlled& to) noexcept {
    if (&from == &to) return;
    all.run_length = 0;
    to.its_turn.give();
    from.its_turn.await();
}

why wait(controlled& t, waits_for what, int64_t deadline_ns) noexcept {
    t.inside = true;
    t.state = what;
    t.deadline_ns = deadline_ns;
    pass_to(t, choose(nullptr));
    // Served, if serve_word has changed the state; or what it waits for is there.
    const bool in_time =
        t.state == waits_for::nothing || what == waits_for::thread || (what == waits_for::events && has_events(t.fd));
    t.state = waits_for::nothing;
    t.inside = false;
    return in_time ? why::served : why::time;
}

void keep_step(controlled& t, const void* place) noexcept {
    all.kept[all.steps % steps_kept] = {.place = place, .thread = t.number};
    ++all.steps;
    ++t.steps;
    all.now += step_ns;
    if (all.steps > all.most_steps) fail("it takes too many steps");
}

// Whether another thread should run now.
bool should_pass(controlled& t) noexcept {
    if (++all.run_length > longest_run) {
        lose_priority(t);
        return true;
    }
    if (all.chosen == strategy::walk) return below(all.mean_run) == 0;
    if (below(all.mean_run * 64) != 0) return false;
    lose_priority(t);
    return true;
}

// Runs when all other destructors of the thread have run, since the key is set again until then.
constexpr int rounds_of_keys = 3;
pthread_key_t end_key;
thread_local int rounds = 0;

void at_end(void* value) noexcept {
    if (++rounds != rounds_of_keys) {
        pthread_setspecific(end_key, value);
        return;
    }
    auto& t = *static_cast<controlled*>(value);
    t.inside = true;
    t.state = waits_for::end;
    mine = nullptr;
    all.run_length = 0;
    choose(nullptr).its_turn.give();
}

}  // namespace

controlled* self() noexcept { return mine; }

void step() noexcept {
    controlled* t = mine;
    if (t == nullptr || t->inside) return;
    t->inside = true;
    keep_step(*t, __builtin_return_address(0));
    if (should_pass(*t)) pass_to(*t, choose(t));
    t->inside = false;
}

void begin_turns(uint64_t seed, uint64_t most_steps, int64_t most_ns, unsigned spurious) {
    all.random.seed(static_cast<unsigned>(seed * 2'654'435'761U + 12'345));
    all.random.discard(8);
    all.chosen = below(3) == 0 ? strategy::priorities : strategy::walk;
    all.mean_run = 1U << (1 + below(8));
    all.lowest_priority = 1U << 20;
    all.most_steps = most_steps;
    all.most_ns = all.now + most_ns;
    all.spurious = spurious;
    pthread_key_create(&end_key, at_end);
    mine = add_thread();
    mine->tid = static_cast<int>(syscall(SYS_gettid));
    mine->handle = static_cast<uintptr_t>(pthread_self());
    mine->inside = false;
}

uint64_t steps_so_far() noexcept { return all.steps; }

int64_t virtual_ns() noexcept { return all.now; }

controlled* add_thread() noexcept {
    if (all.count == threads_most) fail("there are too many threads");
    controlled& t = all.threads[all.count];
    t.number = all.count++;
    t.priority = (1U << 20) + below(1U << 20);
    t.inside = true;
    return &t;
}

void remove_thread(controlled* t) noexcept { t->state = waits_for::end; }

void start_turns(controlled* t) noexcept {
    t->its_turn.await();
    t->tid = static_cast<int>(syscall(SYS_gettid));
    pthread_setspecific(end_key, t);
    mine = t;
    t->inside = false;
}

void set_handle(controlled* t, uintptr_t pthread) noexcept { t->handle = pthread; }

controlled* find_by_handle(uintptr_t pthread) noexcept {
    // The newest one: a handle is used again.
    for (unsigned i = all.count; i-- != 0;) {
        if (all.threads[i].handle == pthread) return &all.threads[i];
    }
    return nullptr;
}

controlled* find_by_tid(int tid) noexcept {
    for (unsigned i = all.count; i-- != 0;) {
        if (all.threads[i].tid == tid) return &all.threads[i];
    }
    return nullptr;
}

int64_t cpu_ns(const controlled& t) noexcept { return static_cast<int64_t>(t.steps) * step_ns + t.computed_ns; }

bool could_run(const controlled& t) noexcept { return t.state == waits_for::nothing; }

void give_turn() noexcept {
    controlled* t = mine;
    if (t == nullptr || t->inside) return;
    t->inside = true;
    keep_step(*t, __builtin_return_address(0));
    lose_priority(*t);
    pass_to(*t, choose(t));
    t->inside = false;
}

why wait_for_time(int64_t deadline_ns) noexcept { return wait(*mine, waits_for::time, deadline_ns); }

why wait_for_word(const void* word, int64_t deadline_ns) noexcept {
    mine->word = word;
    return wait(*mine, waits_for::word, deadline_ns);
}

why wait_for_thread(controlled& t) noexcept {
    mine->other = &t;
    return wait(*mine, waits_for::thread, for_ever);
}

why wait_for_events(int fd, int64_t deadline_ns) noexcept {
    mine->fd = fd;
    return wait(*mine, waits_for::events, deadline_ns);
}

unsigned serve_word(const void* word, unsigned most) noexcept {
    unsigned served = 0;
    for (unsigned i = 0; i != all.count && served != most; ++i) {
        controlled& t = all.threads[i];
        if (t.state != waits_for::word || t.word != word) continue;
        t.state = waits_for::nothing;
        ++served;
    }
    return served;
}

void compute_for(int64_t ns) noexcept {
    all.now += ns;
    if (mine != nullptr) mine->computed_ns += ns;
    step();
}

unsigned random_below(unsigned n) noexcept { return below(n); }

bool ends_without_reason() noexcept { return all.spurious != 0 && below(1000) < all.spurious; }

void fail(const char* what) noexcept {
    if (!std::exchange(all.failing, true)) {
        std::fprintf(stderr, "stepped: %s, after %llu steps, at %.6f s\n", what,
                     static_cast<unsigned long long>(all.steps), static_cast<double>(all.now) / 1e9);
        for (unsigned i = 0; i != all.count; ++i) {
            const controlled& t = all.threads[i];
            if (t.state == waits_for::end) continue;
            std::fprintf(stderr, "  thread %u, after %llu steps: %s", t.number,
                         static_cast<unsigned long long>(t.steps), text_of(t.state));
            if (t.deadline_ns != for_ever && t.state != waits_for::nothing) {
                std::fprintf(stderr, ", until %.6f s", static_cast<double>(t.deadline_ns) / 1e9);
            }
            std::fprintf(stderr, "\n");
        }
        std::fprintf(stderr, "the last steps:\n");
        const uint64_t first = all.steps > steps_printed ? all.steps - steps_printed : 0;
        for (uint64_t i = first; i != all.steps; ++i) {
            const kept_step& s = all.kept[i % steps_kept];
            Dl_info from{};
            const bool known = dladdr(s.place, &from) != 0;
            std::fprintf(stderr, "step %u %s %#lx\n", s.thread, known ? from.dli_fname : "?",
                         static_cast<unsigned long>(reinterpret_cast<uintptr_t>(s.place) -
                                                    (known ? reinterpret_cast<uintptr_t>(from.dli_fbase) : 0)) -
                             1);
        }
    }
    std::fflush(stderr);
    _exit(failed_status);
}

}  // namespace stepped
