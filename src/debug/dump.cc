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

#include "debug/batch_reader.h"
#include "debug/dump_forms.h"
#include "debug/g_snapshot.h"
#include "debug/stack_groups.h"
#include "debug/stack_use.h"
#include "os/os.h"
#include "sched/scheduler.h"
#include "sched/switch.h"

namespace weft {

namespace detail {

namespace {

constexpr std::size_t places_shown = 16;

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
    batch_reader reader(s, [&](const g_snapshot& g, const label_set&) noexcept {
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
