// report.cc: see report.h.
#include "lifecycle/report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/atomic.h"
#include "monitor/sysmon.h"
#include "os/os.h"
#include "os/unwind.h"
#include "stack/read_frames.h"
#include "stack/stack.h"

namespace weft::detail {

namespace {

constexpr int frames_max = 64;  // of one stack

constinit atomic<uint32_t> left_out{0};   // pieces of reports that were not read
constinit atomic<bool> shows_all{false};  // RUN_DEBUG=frames=all
constinit atomic<bool> amid_line{false};  // the last written piece ended inside a line

}  // namespace

void report::print(const char* format, ...) noexcept {
    for (int attempt = 0; attempt < 2; ++attempt) {
        va_list arguments;
        va_start(arguments, format);
        const std::size_t room = buffer_size - used_;
        const int wanted = std::vsnprintf(buffer_ + used_, room, format, arguments);
        va_end(arguments);
        if (wanted < 0) return;
        if (static_cast<std::size_t>(wanted) < room) {
            used_ += static_cast<std::size_t>(wanted);
            return;
        }
        if (used_ == 0) {
            used_ = buffer_size - 1;  // cut
            return;
        }
        flush();
    }
}

bool report::goes_on() noexcept {
    if (!gave_up_ && writer_ != nullptr && !writer_->scan_meanwhile()) give_up();
    return !gave_up_;
}

void report::give_up() noexcept {
    gave_up_ = true;
    left_out.fetch_add(1, relaxed_count);
}

// False: time is over, or the writer must end.
bool report::await_reader() noexcept {
    while (left_ns_ > 0) {
        const int64_t began_ns = os::monotonic_ns();
        const bool takes_some = out_.await(writer_ == nullptr ? left_ns_ : std::min(left_ns_, monitor_pace::scan_ns));
        left_ns_ -= os::monotonic_ns() - began_ns;
        if (writer_ != nullptr && !writer_->scan_meanwhile()) return false;
        if (takes_some) return true;
    }
    return false;
}

// False: not all was written.
bool report::write_patiently(const char* text, std::size_t size) noexcept {
    for (std::size_t done = 0; done < size;) {
        const std::ptrdiff_t wrote = out_.write_some(text + done, size - done);
        if (wrote < 0 || (wrote == 0 && !await_reader())) return false;
        if (wrote == 0) continue;
        done += static_cast<std::size_t>(wrote);
        amid_line.store(text[done - 1] != '\n', relaxed_hint);
        if (patience_ == patience::while_read) left_ns_ = stall_ns;
    }
    return true;
}

// Does not wait with patience::little: the reader may still be absent. False: it is absent.
bool report::tell_what_was_left_out() noexcept {
    if (told_) return true;
    told_ = true;
    const uint32_t count = left_out.exchange(0, relaxed);  // relaxed: later is as good
    if (count == 0) return true;
    char line[80];
    const int size =
        std::snprintf(line, sizeof(line), "%sweft: %u pieces of reports were left out: stderr was not read\n",
                      amid_line.load(relaxed_hint) ? "\n" : "", count);
    if (patience_ == patience::little) left_ns_ = 0;
    const bool written = write_patiently(line, static_cast<std::size_t>(size));
    left_ns_ = full_patience_ns();
    if (!written) left_out.fetch_add(count, relaxed_hint);
    return written;
}

void report::flush() noexcept {
    if (used_ == 0) return;
    if (patience_ == patience::endless) {
        os::write_all(fd_, buffer_, used_);
    } else if (gave_up_ || !tell_what_was_left_out() || !write_patiently(buffer_, used_)) {
        give_up();
    }
    used_ = 0;
}

namespace {

// Prints the frames of one stack; report.h has the form. Consecutive frames of the runtime are held
// back as a run until it is known what follows.
class frame_printer {
public:
    // With templates, also those functions of the runtime that were made for the program.
    frame_printer(report& out, report::frame_style style, bool templates) noexcept
        : out_(out), style_(style), templates_(templates) {}

    void add(const symbol& s, const os::code_place& place) noexcept {
        const bool is_shown =
            s.kind == symbol_kind::program || shows_all.load(relaxed_hint) || (templates_ && is_template(s.function));
        if (!is_shown) {
            extend_run(s);
            return;
        }
        end_run();
        out_.print("    #%-2d %s", index_++, s.function);
        if (s.file != nullptr) {
            out_.print(" at %s:%u", s.file, s.line);
        } else {
            out_.print(" (%s+0x%zx)", place.module, place.address);
        }
        out_.print(s.inlined ? " (inlined)\n" : "\n");
    }

    // Nothing but what the dynamic linker says is known. place is nullptr if that is nothing, too.
    void add_unknown(const void* pc, const os::code_place* place) noexcept {
        end_run();
        if (place == nullptr) {
            out_.print("    #%-2d 0x%zx\n", index_++, reinterpret_cast<uintptr_t>(pc));
            return;
        }
        out_.print("    #%-2d 0x%zx %s (%s+0x%zx)\n", index_++, reinterpret_cast<uintptr_t>(pc),
                   place->function == nullptr ? "?" : place->function, place->module, place->address);
    }

    void add_repeated(int times) noexcept {
        end_run();
        out_.print("    … the same %d more times\n", times);
    }

    // A run at the end is how the runtime has called the program, and left out.
    [[nodiscard]] bool has_shown_any() const noexcept { return index_ != 0; }

private:
    // Not one that only the library itself can use.
    static bool is_template(const char* function) noexcept {
        constexpr std::string_view own = "weft::detail::(anonymous namespace)::";
        return std::strchr(function, '<') != nullptr && std::strncmp(function, own.data(), own.size()) != 0;
    }

    // The outermost public function is what the frame outside has called.
    void extend_run(const symbol& s) noexcept {
        in_run_ = true;
        if (s.kind == symbol_kind::interface) std::snprintf(run_, sizeof(run_), "%s", s.function);
    }

    void end_run() noexcept {
        if (in_run_) print_run();
        in_run_ = false;
        run_[0] = '\0';
    }

    // The headline of a G says why it is parked, also if no name is known here.
    void print_run() noexcept {
        const bool is_parked = index_ == 0 && style_.parked;
        if (run_[0] != '\0') {
            out_.print("    … %s %s\n", is_parked ? "parked in" : "in", run_);
        } else if (!is_parked) {
            out_.print("    … in weft\n");
        }
    }

    report& out_;
    report::frame_style style_;
    int index_ = 0;
    const bool templates_;
    bool in_run_ = false;
    char run_[256] = {};
};

}  // namespace

void report::show_all_frames() noexcept { shows_all.store(true, relaxed_hint); }

namespace {

void print_frames(report& out, frame_printer& printer, const void* const* pcs, int count, bool exact) noexcept {
    constexpr int worth_counting = 3;
    for (int i = 0; i < count;) {
        const void* pc = pcs[i];
        int times = 1;
        while (i + times < count && pcs[i + times] == pc) ++times;
        os::code_place place{};
        const bool is_known = os::find_code(pc, place);
        os::code_place call = place;
        // A call may be the last instruction of a function, so its return address may lie in the
        // next one.
        if (i != 0 || !exact) --call.address;
        if (!is_known || out.ask(call, [&](const symbol& s) { printer.add(s, place); }) == 0)
            printer.add_unknown(pc, is_known ? &place : nullptr);
        if (times >= worth_counting) printer.add_repeated(times - 1);
        i += times >= worth_counting ? times : 1;
    }
}

}  // namespace

void report::frames(const void* const* pcs, int count, frame_style style) noexcept {
    frame_printer printer(*this, style, false);
    print_frames(*this, printer, pcs, count, style.exact);
    if (!printer.has_shown_any()) {
        // The compiler has expanded the program's functions in those of the runtime, and no debug
        // information says so; or it has replaced their last call by a jump.
        frame_printer with_templates(*this, style, true);
        print_frames(*this, with_templates, pcs, count, style.exact);
    }
    if (style.cut) print("    …\n");
}

void report::entry(const void* address) noexcept {
    os::code_place place{};
    if (!os::find_code(address, place)) {
        print("    entry 0x%zx\n", reinterpret_cast<uintptr_t>(address));
        return;
    }
    bool is_first = true;
    const int count = ask(place, [&](const symbol& s) {
        if (!is_first || s.kind != symbol_kind::program) return;
        is_first = false;
        print("    entry %s", s.function);
        if (s.file != nullptr) print(" at %s:%u", s.file, s.line);
        print("\n");
    });
    if (count != 0) return;
    print("    entry 0x%zx %s (%s+0x%zx)\n", reinterpret_cast<uintptr_t>(address),
          place.function == nullptr ? "?" : place.function, place.module, place.address);
}

void report::backtrace(const void* pc, const void* fp, const struct stack& s) noexcept {
    const void* pcs[frames_max];
    const int count = read_frames(pc, fp, s.low, s, pcs, frames_max);
    frames(pcs, count, {.cut = count == frames_max, .exact = pc != nullptr});
}

void report::own_backtrace() noexcept {
    struct progress {
        const void* pcs[frames_max];
        int count = 0;
    } so_far;

    os::for_each_own_frame(
        [](void* closure, const void* pc) {
            auto* p = static_cast<progress*>(closure);
            p->pcs[p->count++] = pc;
            return p->count < frames_max;
        },
        &so_far);
    frames(so_far.pcs, so_far.count, {.cut = so_far.count == frames_max});
}

}  // namespace weft::detail
