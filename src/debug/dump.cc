// dump.cc: writes what every green thread is doing to a file descriptor.
//
//   1  It is noted where each live G was started.
//   2  All Gs are read, eight at a time, while these are frozen (sched/freeze.h), and put into
//      groups. Those that run are asked by a signal.
//   3  The groups are written, the largest first. A child process finds the names of functions
//      meanwhile (symbols/symbol_service.h). No G is frozen.
//
// So the time for which a G is frozen does not depend on the reader of the dump, nor on symbols.
#include "debug/dump.h"

#include <unistd.h>

#include <weft/debug.h>
#include <weft/runtime.h>

#include "debug/dump_forms.h"
#include "debug/g_snapshot.h"
#include "debug/stack_groups.h"
#include "debug/stack_use.h"
#include "os/os.h"
#include "sched/freeze.h"
#include "sched/scheduler.h"
#include "sched/switch.h"

namespace weft {

namespace detail {

namespace {

constexpr int batch_size = 8;  // on the caller's stack
constexpr std::size_t places_shown = 16;

// Reads Gs in batches, and passes each snapshot on.
template <typename Pass>
class batch_reader {
public:
    batch_reader(scheduler& s, Pass pass) noexcept : s_(s), pass_(pass) {}

    void add(G& g) noexcept {
        gs_[count_++] = &g;
        if (count_ == batch_size) read();
    }

    void read() noexcept {
        {
            const frozen still(gs_, static_cast<uint32_t>(count_));
            for (int i = 0; i < count_; ++i) seen_[i].take(*gs_[i]);
        }
        for (int i = 0; i < count_; ++i) let_arrive(i);
        for (int i = 0; i < count_; ++i) {
            seen_[i].find_thread(s_, *gs_[i]);
            if (seen_[i].state != g_state::dead) pass_(seen_[i]);
        }
        count_ = 0;
    }

private:
    // A running G on no thread is about to wait, or to run on one, but its thread may be
    // descheduled.
    void let_arrive(int i) noexcept {
        constexpr int64_t pause_ns = 200'000;
        while (pauses_left_ > 0 && seen_[i].state == g_state::running) {
            runner r;
            if (find_runner(s_, gs_[i], r)) return;
            --pauses_left_;
            os::sleep_ns(pause_ns);
            const frozen still(&gs_[i], 1);
            seen_[i].take(*gs_[i]);
        }
    }

    scheduler& s_;
    Pass pass_;
    int pauses_left_ = 25;  // for the whole dump: 5 ms
    int count_ = 0;
    G* gs_[batch_size];
    g_snapshot seen_[batch_size];
};

void print_stack_use(report& out, scheduler& s) noexcept {
    measure_live(s, &out);
    if (!out.goes_on()) return;
    stack_use_at deepest[places_shown];
    const std::size_t count = s.places.copy(deepest);
    if (count != 0) out.print("stack use by the place that starts the green threads, deepest first:\n");
    for (std::size_t i = 0; i < count && i < places_shown; ++i) {
        const stack_use_at& row = deepest[i];
        out.print("    %zu KiB touched, %zu bytes while waiting, in %llu measurements: %s:%u, in %s\n",
                  (row.touched + 1023) / 1024, row.waiting, static_cast<unsigned long long>(row.measured),
                  row.where.file_name(), static_cast<unsigned>(row.where.line()), row.where.function_name());
    }
    if (count > places_shown) out.print("    (%zu more)\n", count - places_shown);
}

std::size_t count_live(scheduler& s) noexcept {
    std::size_t count = 0;
    s.gs.for_each([&](const G& g) {
        if (g.state.load(relaxed_hint) != g_state::dead) ++count;
    });
    return count;
}

void write_dump(scheduler& s, report& out, const dump_options& options, dump_writer& writer) noexcept {
    writer.begin(s);
    stack_groups groups;
    batch_reader reader(s, [&](const g_snapshot& g) noexcept {
        const bool is_alone = g.has_runner || g.state == g_state::running || !options.grouped;
        if (is_alone || !groups.add(g)) {
            if (out.goes_on()) writer.show(stack_group(g));
        }
    });
    s.gs.for_each([&](G& g) {
        if (g.state.load(relaxed_hint) != g_state::dead && out.goes_on()) reader.add(g);
    });
    reader.read();
    for (const stack_group* group : groups.sorted()) {
        if (out.goes_on()) writer.show(*group);
    }
    writer.end();
}

}  // namespace

void dump_scheduler(scheduler& s, int fd, const dump_options& options, monitor* writer) noexcept {
    report out(fd, writer == nullptr ? report::patience::endless : report::patience::while_read, writer);
    if (!options.names) out.do_without_names();
    family creators(count_live(s));
    s.gs.for_each([&](const G& g) {
        identity who;
        const bool is_live = g.state.load(acquire) != g_state::dead;  // pairs with set_state
        if (is_live && who.read(g)) creators.add(who);
    });
    creators.sort();
    const int64_t now_ns = os::monotonic_ns();
    if (options.form == dump_form::json) {
        json_writer json(out, creators, now_ns);
        write_dump(s, out, options, json);
    } else if (options.form == dump_form::folded) {
        folded_writer folded(out, creators, now_ns);
        write_dump(s, out, options, folded);
    } else {
        text_writer text(out, creators, now_ns);
        write_dump(s, out, options, text);
        print_stack_use(out, s);
    }
}

}  // namespace detail

void dump(int fd, const dump_options& options) noexcept {
    const detail::M* m = detail::current_g_m();
    if (m != nullptr) {
        detail::dump_scheduler(*m->home, fd, options);
        return;
    }
    detail::scheduler* s = detail::pin_default_scheduler_if_any();
    if (s == nullptr) {
        detail::report(fd).print("weft: no runtime has been started, so there is nothing to dump\n");
        return;
    }
    detail::dump_scheduler(*s, fd, options);
    s->unpin();
}

void dump(int fd) noexcept { dump(fd, {}); }

void runtime::dump(int fd, const dump_options& options) const noexcept {
    const detail::runtime_use s = use();
    if (s != nullptr) detail::dump_scheduler(*s, fd, options);
}

void runtime::dump(int fd) const noexcept { dump(fd, {}); }

}  // namespace weft
