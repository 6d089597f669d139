// report.h: writes a report of the runtime: lines of text, and stacks.
//
// A report may be the last thing that a process does, on a signal handler's stack: it neither
// allocates nor locks. Names of functions come from another process (symbols/symbol_service.h).
//
// Frames are shown as
//
//     #0  serve(request const&) at server.cc:42
//     #1  parse(std::string) at server.cc:17 (inlined)      a call that the compiler expanded
//     #2  on_idle (libevent.so+0x1c04)                      no line is known
//     #3  0x55e0476ed0e1 ? (server+0x80e1)                  nothing is known: addr2line -e server 0x80e1
//
// Frames of the runtime that follow each other are one line: "… parked in weft::chan<int>::recv()".
// Those at the end, below a green thread's own first function, are left out. RUN_DEBUG=frames=all
// shows each of them.
//
// Threads: any thread, in any state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "os/nonblocking_output.h"
#include "os/symbols.h"
#include "symbols/symbolizer.h"

namespace weft::detail {

class monitor;
struct stack;

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

    struct frame_style {
        bool cut = false;     // there are more
        bool parked = false;  // of a green thread that waits
        bool exact = false;   // the first address is that of an instruction, the others are return addresses
    };

    void frames(const void* const* pcs, int count, frame_style style) noexcept;

    static void show_all_frames() noexcept;

    // From now on, only what the dynamic linker knows.
    void do_without_names() noexcept { names_.stop(); }

    // A line with the name and place of the function at this address, unless that is a function of
    // the runtime, which calls the program's.
    void entry(const void* address) noexcept;

    // The frames from fp on, which lie on s.
    void backtrace(const void* pc, const void* fp, const stack& s) noexcept;

    // The frames of the calling thread. Not for signal handlers.
    void own_backtrace() noexcept;

    // Calls each(symbol) for the frames at the place, innermost first. Returns their number: 0 if
    // nothing is known of it.
    template <typename Each>
    int ask(const os::code_place& place, Each&& each) noexcept {
        return names_.ask(place, writer_ == nullptr ? nullptr : &report::goes_on_while_asking, this,
                          std::forward<Each>(each));
    }

private:
    static constexpr std::size_t buffer_size = 3072;

    static bool goes_on_while_asking(void* self) noexcept { return static_cast<report*>(self)->goes_on(); }

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
    symbolizer names_;
    std::size_t used_ = 0;
    char buffer_[buffer_size];
};

}  // namespace weft::detail
