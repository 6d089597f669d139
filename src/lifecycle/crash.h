// crash.h: reports when the process dies in a green thread.
//
// docs/errors.md has the causes. After a report the previous handler runs, or abort.
//
// Threads: any thread, in any state: reports neither allocate nor lock, except to name an
//          exception.
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

// The registry in which the fault handler finds the stack of an address.
void register_scheduler(scheduler* s) noexcept;
void unregister_scheduler(scheduler* s) noexcept;

// Calls visit for each scheduler until it returns false. Unregistering waits for it: be quick. Any
// signal handler; any thread except one about to unregister a scheduler.
void visit_schedulers(bool (*visit)(void* closure, scheduler& s) noexcept, void* closure) noexcept;

// g has overrun its stack, which has no guard.
[[noreturn]] void report_overflow(G& g) noexcept;

// Stores up to max return addresses: pc, unless nullptr, and the chain from fp. Frames lie on s, at
// or above low, and on the stacks that s continues. Returns the count.
int read_frames(const void* pc, const void* fp, const void* low, const stack& s, const void** pcs, int max) noexcept;

// Fits on a signal handler's stack.
class report {
public:
    // How long to wait for a reader before the rest is dropped; a later report says so. Only
    // `endless` makes writes that may block.
    enum class patience : uint8_t {
        endless,
        little,      // little_ns for the whole report
        while_read,  // stall_ns for each piece
    };

    static constexpr int64_t little_ns = 10'000'000;
    static constexpr int64_t stall_ns = 100'000'000;

    // writer: the caller, if a monitor. It checks its Ps while it waits and in goes_on(), so it
    // must hold no lock.
    explicit report(int fd, patience p = patience::endless, monitor* writer = nullptr) noexcept
        : fd_(fd), patience_(p), writer_(writer), left_ns_(full_patience_ns()), out_(fd) {}

    ~report() { flush(); }

    report(const report&) = delete;
    report& operator=(const report&) = delete;

    [[gnu::format(printf, 2, 3)]] void print(const char* format, ...) noexcept;
    void flush() noexcept;

    // For long writers. False: the rest is dropped.
    [[nodiscard]] bool goes_on() noexcept;

    // One frame: "    #0  0x… symbol (module+0x1234)".
    void frame(int index, const void* pc) noexcept;

    void frames(const void* const* pcs, int count, bool cut) noexcept;

    // Writes up to max frames from fp on, which lie on s. Returns the count.
    int backtrace(const void* pc, const void* fp, const stack& s, int max) noexcept;

    // Not for signal handlers.
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
    bool told_ = false;  // about what had been left out
    monitor* writer_;
    int64_t left_ns_;  // left of the wait
    os::nonblocking_output out_;
    std::size_t used_ = 0;
    char buffer_[buffer_size];
};

// "green thread 7 \"acceptor\" (started by 1 at main.cc:12, in int main())".
void print_identity(report& out, const G& g) noexcept;

}  // namespace weft::detail
