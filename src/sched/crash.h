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

#include "os/nonblocking_output.h"

namespace weft::detail {

class monitor;
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
    // What to do while nobody reads: wait; or, when patience is over, leave out the rest, and say so when somebody reads again. Others than
    // the endless never make a write that may block.
    enum class patience : uint8_t {
        endless,
        little,      // little_ns of waiting for the whole report
        while_read,  // stall_ns from one piece to the next
    };

    static constexpr int64_t little_ns = 10'000'000;
    static constexpr int64_t stall_ns = 100'000'000;

    // writer: the caller, if it is a monitor. It looks at its processors while it waits, and in goes_on(): so it holds no lock when it prints.
    explicit report(int fd, patience p = patience::endless, monitor* writer = nullptr) noexcept
        : fd_(fd), patience_(p), writer_(writer), left_ns_(full_patience_ns()), out_(fd) {}

    ~report() { flush(); }

    report(const report&) = delete;
    report& operator=(const report&) = delete;

    [[gnu::format(printf, 2, 3)]] void print(const char* format, ...) noexcept;
    void flush() noexcept;

    // From time to time, by who writes much. False: the rest is left out, so it need not be made.
    [[nodiscard]] bool goes_on() noexcept;

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

    [[nodiscard]] int64_t full_patience_ns() const noexcept {
        return patience_ == patience::while_read ? stall_ns : little_ns;
    }

    bool write_patiently(const char* text, std::size_t size) noexcept;
    bool await_reader() noexcept;
    bool tell_what_was_left_out() noexcept;
    void give_up() noexcept;

    int fd_;
    patience patience_;
    bool gave_up_ = false;
    bool told_ = false;  // what had been left out before
    monitor* writer_;
    int64_t left_ns_;  // of patience
    os::nonblocking_output out_;
    std::size_t used_ = 0;
    char buffer_[buffer_size];
};

// "green thread 7 \"acceptor\" (started by 1 at main.cc:12, in int main())".
void print_identity(report& out, const G& g) noexcept;

}  // namespace weft::detail
