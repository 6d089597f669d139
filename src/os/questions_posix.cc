// questions_posix.cc: asks another thread where it is. See signals.h.
//
// One question at a time. Its number shares the word with the state, so a late answer matches none:
//
//     idle ──ask──▶ asked ──the handler──▶ answering ──the handler──▶ answered
//                     └──the asker, time is up──▶ idle
#include <pthread.h>

#include <cerrno>
#include <csignal>

#include <weft/detail/spin_lock.h>

#include "os/cpu_sampling.h"
#include "os/interrupt_signal.h"
#include "os/machine_context.h"
#include "os/marked_signal.h"
#include "os/os.h"
#include "os/signals.h"

namespace weft::detail::os {

namespace {

constexpr int question_signal = SIGURG;  // ignored by default, and debuggers pass it through
constexpr int64_t patience_ns = 100'000'000;
constexpr int64_t nap_ns = 50'000;

constexpr uint32_t idle = 0;
constexpr uint32_t asked = 1;
constexpr uint32_t answering = 2;
constexpr uint32_t answered = 3;
constexpr uint32_t states = 4;

struct {
    atomic<uint32_t> word{idle};  // state + states * number
    void (*look)(void*, const fault&) noexcept = nullptr;
    void* closure = nullptr;
    atomic<int> tid{0};
} constinit question;

constinit spin_lock asking;
constinit atomic<bool> enabled{false};
constinit struct sigaction previous = {};

void answer(uint32_t number, const void* context) noexcept {
    uint32_t seen = asked + states * number;
    // acquire: pairs with ask_thread; relaxed: the question is no longer open
    if (!question.word.compare_exchange_strong(seen, answering + states * number, acquire, relaxed)) return;
    question.look(question.closure, place_of(question_signal, context));
    question.word.store(answered + states * number, release);  // pairs with ask_thread
}

bool previous_is_ours() noexcept {
    return (previous.sa_flags & SA_SIGINFO) != 0 &&
           is_interrupt_handler(reinterpret_cast<void (*)(int, void*, void*)>(previous.sa_sigaction));
}

void on_question(int signal, siginfo_t* info, void* context) {
    const int kept_errno = errno;
    answer_if_asked(signal, context);
    const bool is_marked = is_question(info) || is_sample(info);
    if (is_marked && !previous_is_ours()) {
        sample_if_due(info, context);  // ours alone
    } else if ((previous.sa_flags & SA_SIGINFO) != 0) {
        previous.sa_sigaction(signal, info, context);
    } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signal);
    }
    errno = kept_errno;
}

}  // namespace

fault place_of(int signal, const void* context) noexcept {
    const machine_registers r = read_registers(context);
    return {.signal = signal,
            .address = reinterpret_cast<const void*>(r.sp),
            .pc = reinterpret_cast<const void*>(r.pc),
            .fp = reinterpret_cast<const void*>(r.fp),
            .return_register = reinterpret_cast<const void*>(r.return_address)};
}

void answer_if_asked(int signal, const void* context) noexcept {
    if (signal != question_signal) return;
    const uint32_t seen = question.word.load(acquire);  // pairs with ask_thread
    // relaxed: as the word says
    if (seen % states != asked || question.tid.load(relaxed) != current_tid()) return;
    answer(seen / states, context);
}

bool is_question(const void* info) noexcept { return has_mark(info, &question); }

void enable_questions() noexcept {
    if (!can_ask || questions_enabled()) return;
    struct sigaction action{};
    action.sa_sigaction = &on_question;
    sigemptyset(&action.sa_mask);
    installing_handlers.lock();
    if (!enabled.load(relaxed_locked)) {
        struct sigaction there{};
        sigaction(question_signal, nullptr, &there);
        // First: the handler may run at once. It is there if the parent forked during this.
        if (there.sa_sigaction != &on_question) previous = there;
        // If preemption continues inside the previous handler, that must run on the green thread's
        // stack. So we use the same stack as it does. Others run on ours: the alternate one.
        const bool alone = !previous_is_ours();
        action.sa_flags = SA_SIGINFO | SA_RESTART | (alone ? SA_ONSTACK : previous.sa_flags & SA_ONSTACK);
        sigaction(question_signal, &action, nullptr);
        enabled.store(true, release);  // pairs with questions_enabled
    }
    installing_handlers.unlock();
}

void forget_questions() noexcept {
    asking.reset_after_fork();
    installing_handlers.reset_after_fork();
    forget_sampling();
}

bool questions_enabled() noexcept {
    return enabled.load(acquire);  // pairs with enable_questions: the handler is there
}

void take_questions(bool is_ours) noexcept {
    if (!can_ask || (!is_ours && !questions_enabled())) return;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, question_signal);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

bool ask_thread(int tid, void (*look)(void* closure, const fault& where) noexcept, void* closure) noexcept {
    if (!questions_enabled()) return false;
    asking.lock();
    const uint32_t number = (question.word.load(relaxed_locked) / states + 1) % (UINT32_MAX / states);
    question.look = look;
    question.closure = closure;
    question.tid.store(tid, relaxed);                       // relaxed: published by the word
    question.word.store(asked + states * number, release);  // pairs with answer
    bool done = false;
    if (send_marked(tid, question_signal, &question)) {
        const int64_t deadline_ns = monotonic_ns() + patience_ns;
        do {
            sleep_ns(nap_ns);
            done = question.word.load(acquire) == answered + states * number;  // pairs with answer
        } while (!done && monotonic_ns() < deadline_ns);
    }
    uint32_t seen = asked + states * number;
    // relaxed: the question was not read
    if (!done && !question.word.compare_exchange_strong(seen, idle + states * number, relaxed)) {
        // The thread answers as soon as it gets a CPU.
        for (uint32_t i = 0; question.word.load(acquire) != answered + states * number; ++i)
            spin_backoff(i);  // as above
        done = true;
    }
    asking.unlock();
    return done;
}

}  // namespace weft::detail::os
