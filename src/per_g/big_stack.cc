// big_stack.cc: see big_stack.h.
#include "per_g/big_stack.h"

#include <stdexcept>
#include <string>
#include <utility>

#include <weft/big_stack.h>

#include "base/generation.h"
#include "context/call_on_stack.h"
#include "lifecycle/crash.h"
#include "os/os.h"
#include "sched/scheduler.h"
#include "sched/spawn.h"
#include "sched/switch.h"
#include "sched/trim.h"

namespace weft::detail {

namespace {

std::size_t left_of_thread(const std::byte* frame) noexcept {
    const void* low = nullptr;
    std::size_t size = 0;
    os::thread_stack_bounds(low, size);
    const auto left = static_cast<std::size_t>(frame - static_cast<const std::byte*>(low));
    return left < size ? left : 0;
}

// A blocking call runs on the OS thread's stack.
std::size_t left_of(const struct stack& s, const void* frame) noexcept {
    const auto* at = static_cast<const std::byte*>(frame);
    return s.holds(frame) ? static_cast<std::size_t>(at - s.low) : left_of_thread(at);
}

void set_canary(G& g) noexcept {
    if (g.stack->guard == guard_kind::canary) {
        g.special.fetch_or(special::canary, relaxed);  // relaxed: ours, except for frozen
    } else {
        g.special.fetch_and(static_cast<uint16_t>(~special::canary), relaxed);  // relaxed: as above
    }
}

void move_spawn_resources(struct stack& from, struct stack& to) noexcept {
    to.pinned_to = std::exchange(from.pinned_to, nullptr);
    to.holder = std::exchange(from.holder, 0);
}

class visit {
public:
    visit(G& g, struct stack& on) noexcept : g_(g), on_(on), below_(*g.stack) {
        on_.owner = &g_;
        on_.next = &below_;
        on_.continues = true;
        move_spawn_resources(below_, on_);
        on_.sanitizers.begin_part_of(below_.sanitizers);
        g_.stack = &on_;
        set_canary(g_);
    }

    // Runs on the stack below, also for an exception.
    WEFT_NO_SANITIZE ~visit() {
        return_to_stack(below_.sanitizers);
        end();
    }

    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

    [[gnu::noinline]] WEFT_NO_SANITIZE void call(void (*function)(void*), void* argument) {
        function_ = function;
        argument_ = argument;
        leave_stack_for_call(below_.sanitizers, on_.sanitizers);
        run_call_on_stack(on_.top(), &arrive, this);
    }

private:
    WEFT_NO_SANITIZE static void arrive(void* argument) {
        auto* self = static_cast<visit*>(argument);
        arrive_on_stack(self->on_.sanitizers);
        self->function_(self->argument_);
    }

    [[gnu::noinline]] void end() noexcept {
        if (on_.guard == guard_kind::canary && !canary_intact(on_)) report_overflow(g_);
        g_.stack = &below_;
        set_canary(g_);
        on_.sanitizers.end_part_of(below_.sanitizers);
        move_spawn_resources(on_, below_);
        on_.continues = false;
        on_.owner = nullptr;
        if (is_from_before_fork(*g_.home)) return;  // fork may have left out the holder of the pool's lock
        give_stack(*g_.home, &on_);
    }

    G& g_;
    struct stack& on_;
    struct stack& below_;
    void (*function_)(void*) = nullptr;
    void* argument_ = nullptr;
};

// Throws std::invalid_argument, or what take_large_stack throws.
struct stack& take_for(scheduler& s, std::size_t size) {
    const int size_class = s.stacks.class_for(size, 1);
    if (size_class < 0) {
        throw std::invalid_argument("weft: the size for on_big_stack is " + std::to_string(size) +
                                    " bytes; the maximum is " +
                                    std::to_string(s.stacks.usable_size(stack_classes - 1)));
    }
    return *take_large_stack(s, size_class);
}

}  // namespace

[[gnu::noinline]] void call_on_big_stack(std::size_t size, void (*function)(void*), void* argument) {
    M* m = current_g_m();
    if (m == nullptr || left_of(*m->g->stack, __builtin_frame_address(0)) >= size) {
        function(argument);
        return;
    }
    G& g = *m->g;  // not m: the G may return on another M
    visit there(g, take_for(*g.home, size));
    there.call(function, argument);
}

void give_continued_back(G& g) noexcept {
    struct stack* at = g.stack;
    if (!at->continues) return;
    at->continues = false;
    for (struct stack* below = at->next; below != nullptr;) {
        struct stack* next = below->continues ? below->next : nullptr;
        below->continues = false;
        below->owner = nullptr;
        give_stack(*g.home, below);
        below = next;
    }
    g.size_class = at->size_class;
}

}  // namespace weft::detail

namespace weft::this_g {

[[gnu::noinline]] std::size_t stack_left() noexcept {
    const void* frame = __builtin_frame_address(0);
    if (const detail::M* m = detail::current_g_m()) return detail::left_of(*m->g->stack, frame);
    return detail::left_of_thread(static_cast<const std::byte*>(frame));
}

}  // namespace weft::this_g
