// crash.cc: see crash.h.
#include "lifecycle/crash.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <typeinfo>

#include "base/assert.h"
#include "base/report_hook.h"
#include "handoff/blocking.h"
#include "lifecycle/adopt.h"
#include "lifecycle/fork.h"
#include "os/commit.h"
#include "os/os.h"
#include "os/signals.h"
#include "os/symbols.h"
#include "os/unwind.h"
#include "per_g/exception_in_flight.h"
#include "sched/current.h"
#include "sched/scheduler.h"
#include "sched/switch.h"

namespace weft::detail {

namespace {

constinit spin_lock registry_lock;
constinit atomic<scheduler*> registry{nullptr};  // chained by next_registered; changed under registry_lock
constinit atomic<uint32_t> visitors{0};          // of the registry; handlers never wait for them
constinit std::terminate_handler previous_terminate = nullptr;

// Requires: the exception is caught.
void print_caught_exception(report& out) noexcept {
    const std::type_info* type = abi::__cxa_current_exception_type();
    if (type == nullptr) return;
    int status = 0;
    char* name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    out.print("an exception of type %s", status == 0 ? name : type->name());
    std::free(name);  // NOLINT: what __cxa_demangle asks for
    try {
        std::rethrow_exception(std::current_exception());
    } catch (const std::exception& e) {
        out.print(" (%s)", e.what());
    } catch (...) {}
}

// Prints the exception that g unwinds for or handles, often the cause of the failure.
void print_exception_of(report& out, const G& g) noexcept {
    const bool on_own_stack = g.stack != nullptr && g.stack->holds(__builtin_frame_address(0));
    if (std::uncaught_exceptions() != 0 && on_own_stack) {
        void* flying = find_exception_in_flight(g.stack->high());
        if (flying == nullptr) return;
        abi::__cxa_begin_catch(flying);
        out.print("weft: while ");
        print_caught_exception(out);
        out.print(" unwound the stack\n");
    } else if (abi::__cxa_current_exception_type() != nullptr) {
        out.print("weft: while ");
        print_caught_exception(out);
        out.print(" was handled\n");
    }
}

void on_fatal() noexcept {
    report out(os::stderr_fd);
    const M* m = current_m();
    const G* lender = lender_of(m);
    if (m == nullptr || (m->g == nullptr && lender == nullptr)) {
        out.print("weft: in a plain thread (tid %d)\n", os::current_tid());
        return;
    }
    const G& g = lender != nullptr ? *lender : *m->g;
    out.print("weft: in %s", lender != nullptr ? "a blocking call of " : "");
    print_identity(out, g);
    out.print("\n");
    out.flush();  // next, code of the program runs
    print_exception_of(out, g);
    out.own_backtrace();
}

// refused: the stack could not grow.
[[noreturn]] void report_fault(const os::fault& f, const struct stack& hit, bool refused) noexcept {
    {
        report out(os::stderr_fd);
        out.print(refused ? "weft: fatal: no memory to grow the stack of " : "weft: fatal: stack overflow in ");
        print_identity(out, *hit.owner);
        out.print("\nweft: its stack of %zu KiB, 0x%zx to 0x%zx, %s at 0x%zx; use %s\n", hit.size() / 1024,
                  reinterpret_cast<uintptr_t>(hit.low), reinterpret_cast<uintptr_t>(hit.high()),
                  refused ? "could not grow" : "is used up", reinterpret_cast<uintptr_t>(f.address),
                  hit.continues ? "a larger size for on_big_stack"
                  : refused     ? "fewer green threads, or stack_policy::fixed"
                  : hit.end != nullptr
                      ? "a larger limit for the OS thread (ulimit -s), or another green thread for deep calls"
                      : "a larger spawn_options::stack_size or RUN_STACK_MAX");
        out.backtrace(f.pc, f.fp, hit);
    }
    call_report_hook(reported::fatal);
    std::abort();
}

// The stack of the caller's G, if it is an OS thread's own and the access at address overran it. A
// fault above the system's guard means that the stack could not grow.
const struct stack* own_stack_overrun(const void* address) noexcept {
    const M* m = current_m();
    if (m == nullptr || m->g == nullptr || !is_on_own_stack(m->g)) return nullptr;
    const struct stack* own = m->g->stack;
    const auto* at = static_cast<const std::byte*>(address);
    const bool near = at < own->high() && own->low - at <= std::ptrdiff_t{guard_size};
    return near && !os::is_readable(at) ? own : nullptr;
}

// A fault may ask for more of a growing stack. The search is a visit, because it reads stacks of
// other runtimes, which may end.
bool on_fault(const os::fault& f) noexcept {
    struct search {
        const os::fault& f;
        struct stack* hit = nullptr;
        bool refused = false;
        bool grown = false;
    } looked{f};

    visit_schedulers(
        [](void* closure, scheduler& s) noexcept {
            auto& look = *static_cast<search*>(closure);
            bool in_guard = false;
            struct stack* hit = s.stacks.find(look.f.address, in_guard);
            if (hit == nullptr || hit->owner == nullptr) return true;
            const growth grown = s.stacks.grow(*hit, look.f.address, look.f.pc);
            look.grown = grown == growth::grown;
            look.refused = grown == growth::refused;
            if (in_guard || look.refused) look.hit = hit;
            return !look.grown && look.hit == nullptr;
        },
        &looked);
    if (looked.grown) return true;
    if (looked.hit != nullptr) report_fault(f, *looked.hit, looked.refused);
    if (const struct stack* own = own_stack_overrun(f.address)) report_fault(f, *own, false);
    return false;
}

// An exception that leaves a G's entry finds no handler, so the thrower's stack is intact.
void on_terminate() {
    const M* m = current_m();
    const G* lender = lender_of(m);
    const G* g = m == nullptr || lender != nullptr ? lender : m->g;
    if (g != nullptr) {
        report out(os::stderr_fd);
        out.print("weft: fatal: ");
        if (abi::__cxa_current_exception_type() != nullptr) {
            print_caught_exception(out);
            out.print(" left ");
        } else {
            out.print("std::terminate was called in ");
        }
        out.print("%s", lender != nullptr ? "a blocking call of " : "");
        print_identity(out, *g);
        out.print(
            "\nweft: use weft::async or weft::wait_group::go to pass exceptions to a waiter\n"
            "weft: or catch it before it leaves a noexcept function, such as a destructor\n");
        out.own_backtrace();
    }
    call_report_hook(reported::fatal);
    if (previous_terminate != nullptr) previous_terminate();
    std::abort();
}

}  // namespace

void install_fatal_report() noexcept {
    static constinit atomic<bool> done{false};
    if (done.exchange(true, acq_rel)) return;  // acq_rel: only one caller installs
    set_fatal_hook(&on_fatal);
    os::install_fault_handler(&on_fault);
    previous_terminate = std::set_terminate(&on_terminate);
}

void free_registry_lock() noexcept {
    registry_lock.reset_after_fork();
    visitors.store(0, relaxed_alone);
}

void register_scheduler(scheduler* s) noexcept {
    registry_lock.lock();
    s->next_registered.store(registry.load(relaxed_locked), relaxed_locked);
    registry.store(s, release);  // pairs with visit_schedulers
    registry_lock.unlock();
}

void unregister_scheduler(scheduler* s) noexcept {
    registry_lock.lock();
    atomic<scheduler*>* link = &registry;
    while (link->load(relaxed_locked) != s) link = &link->load(relaxed_locked)->next_registered;
    link->store(s->next_registered.load(relaxed), release);  // relaxed: as above; pairs with visit_schedulers
    registry_lock.unlock();
    WEFT_FULL_FENCE();                                                       // later visitors do not find it
    for (uint32_t i = 0; visitors.load(acquire) != 0; ++i) spin_backoff(i);  // pairs with visit_schedulers
}

void visit_schedulers(bool (*visit)(void* closure, scheduler& s) noexcept, void* closure) noexcept {
    visitors.fetch_add(1, relaxed);  // relaxed: the fence
    WEFT_FULL_FENCE();               // pairs with unregister_scheduler's
    // acquire: pairs with register_scheduler
    for (scheduler* s = registry.load(acquire); s != nullptr; s = s->next_registered.load(acquire)) {
        if (!visit(closure, *s)) break;
    }
    visitors.fetch_sub(1, release);  // pairs with unregister_scheduler
}

void report_overflow(G& g) noexcept {
    {
        report out(os::stderr_fd);
        out.print("weft: fatal: stack overflow in ");
        print_identity(out, g);
        out.print(
            "\nweft: its stack of %zu KiB has no guard: a switch found the overflow, and the memory below is damaged; "
            "use a larger spawn_options::stack_size or RUN_STACK_MAX\n",
            g.stack->size() / 1024);
    }
    call_report_hook(reported::fatal);
    std::abort();
}

void print_identity(report& out, const G& g) noexcept {
    out.print("green thread %llu", static_cast<unsigned long long>(g.id));
    if (*g.name_or_empty() != '\0') out.print(" \"%s\"", g.name);
    if (g.parent != 0) {
        out.print(" (started by %llu", static_cast<unsigned long long>(g.parent));
    } else {
        out.print(" (started by a plain thread");
    }
    out.print(" at %s:%u, in %s)", g.where.file_name(), static_cast<unsigned>(g.where.line()), g.where.function_name());
}

}  // namespace weft::detail
