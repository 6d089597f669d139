// crash.h: what the process says when it dies in a green thread.
//
// Three ways lead here: fatal() (misuse, or a bug of ours), a fault in the guard of a stack (overflow), and an exception that leaves
// a detached green thread (std::terminate, with the stack still standing). All name the G, where it was started, and show
// its stack; then what was there before us takes over: abort, the previous handler.
//
// Who: report functions in any state of the process; they allocate nothing and take no lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

struct G;
struct scheduler;
struct stack;

// Installs the handlers, once per process.
void install_fatal_report() noexcept;

// The schedulers there are, for the fault handler to find whose stack an address is in.
void register_scheduler(scheduler* s) noexcept;
void unregister_scheduler(scheduler* s) noexcept;

// Calls visit(closure, s) for each of them, until one returns false. None goes meanwhile: so not for long. Any thread that is not about
// to unregister one, any signal handler.
void visit_schedulers(bool (*visit)(void* closure, scheduler& s) noexcept, void* closure) noexcept;

// g has run over the end of its stack, which has no guard. Does not return.
[[noreturn]] void report_overflow(G& g) noexcept;

// The return addresses of up to max frames: pc, if it is not nullptr, and those of the chain that begins at fp, which must lie on s, at or
// above low, and go on on the stacks that s continues. Returns how many.
int read_frames(const void* pc, const void* fp, const void* low, const stack& s, const void** pcs, int max) noexcept;

// Writes text for a report. Small enough for a signal handler's stack.
class report {
public:
    // What to do while nobody reads: wait; or, after a moment, leave out the rest, and say so when somebody reads again. The monitor has
    // little: without it nobody takes processors away.
    enum class patience : uint8_t { endless, little };

    explicit report(int fd, patience p = patience::endless) noexcept : fd_(fd), patience_(p) {}

    ~report() { flush(); }

    report(const report&) = delete;
    report& operator=(const report&) = delete;

    [[gnu::format(printf, 2, 3)]] void print(const char* format, ...) noexcept;
    void flush() noexcept;

    // One frame: "    #0 0x… symbol+0x12 (module+0x1234)".
    void frame(int index, const void* pc) noexcept;

    // count of them; and a sign that there are more, if cut.
    void frames(const void* const* pcs, int count, bool cut) noexcept;

    // Up to max frames from fp on, which must lie on s. Returns how many.
    int backtrace(const void* pc, const void* fp, const stack& s, int max) noexcept;

    // Up to max frames of the caller's own stack. Not in a signal handler.
    void own_backtrace(int max) noexcept;

private:
    static constexpr std::size_t buffer_size = 4096;
    bool may_write() noexcept;

    int fd_;
    patience patience_;
    bool gave_up_ = false;
    std::size_t used_ = 0;
    char buffer_[buffer_size];
};

// "green thread 7 \"acceptor\" (started by 1 at main.cc:12, in int main())".
void print_identity(report& out, const G& g) noexcept;

}  // namespace weft::detail
