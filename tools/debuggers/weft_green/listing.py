"""listing.py: the lists of green threads."""
import argparse

from weft_green import debugger, green, stacks

GROUPS = 30
FRAMES = 8


class options(argparse.ArgumentParser):
    def error(self, message):
        raise debugger.failure(f"weft: {message}; see: help {debugger.LISTING}")


def parser():
    p = options(prog=debugger.LISTING, add_help=False, allow_abbrev=False)
    p.add_argument("-all", action="store_true")
    p.add_argument("-state")
    p.add_argument("-name")
    p.add_argument("-label")
    p.add_argument("-at")
    p.add_argument("-groups", type=int, default=GROUPS)
    p.add_argument("-frames", type=int, default=FRAMES)
    return p


def duration(ns):
    ms = max(0, ns) // 1_000_000
    if ms >= 60_000:
        return f"{ms // 60_000} minutes"
    return f"{ms // 1000} s" if ms >= 1000 else f"{ms} ms"


def times(g, now):
    """", 2 s to 5 minutes", for those that wait or are queued."""
    if g.first.state_name not in ("waiting", "runnable") or g.oldest_ns == 0:
        return ""
    longest, shortest = duration(now - g.oldest_ns), duration(now - g.newest_ns)
    return f", {longest}" if longest == shortest else f", {shortest} to {longest}"


def plural(count, what):
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def started(g, parents=None):
    file, line, function = green.place(g.where)
    if parents is not None and len(parents) > 1:
        by = "several green threads"
    else:
        by = f"green thread {g.parent}" if g.parent else "a plain thread"
    return f"started by {by} at {file}:{line}, in {function}"


def labels_line(g):
    """The labels of a group where all have the same."""
    if g.labels == {0}:
        return None
    texts = set()
    for address in list(g.labels)[:64]:
        texts.add(", ".join(f"{k}={v}" for k, v in green.read_labels(address)) if address else "")
    return f"labels {texts.pop()}" if len(texts) == 1 and len(g.labels) <= 64 else "(different labels)"


def print_group(g, now, frames):
    first = g.first
    name = f' "{first.name_text}"' if len(g.names) == 1 and first.name_text else ""
    head = f"green thread {first.label}" if g.count == 1 else f"{g.count} green threads"
    print(f"{head}{name} [{first.doing}{times(g, now)}]:")
    for line in stacks.shown_frames(first, g.pcs, frames):
        print(f"    {line}")
    if g.count > 1:
        ids = ", ".join(first._replace(id=i).label for i in g.ids)
        more = f" and {g.count - len(g.ids)} more" if g.count > len(g.ids) else ""
        print(f"    ids {ids}{more}")
    labels = labels_line(g)
    if labels:
        print(f"    {labels}")
    print(f"    {started(first, g.parents)}")
    print()


def print_groups(all_runtimes, mem, wanted, now, limits):
    for one in all_runtimes:
        found = stacks.groups_of(one, mem, wanted)
        count = sum(g.count for g in found)
        print(f'runtime {one.number} "{one.name}": {plural(count, "green thread")} in {plural(len(found), "group")}\n')
        for g in found[:limits.groups]:
            print_group(g, now, limits.frames)
        if len(found) > limits.groups:
            rest = found[limits.groups:]
            print(f"{plural(len(rest), 'more group')} with {plural(sum(g.count for g in rest), 'green thread')}; "
                  f"to see them: {debugger.LISTING} -groups {len(found)}\n")


def print_all(all_runtimes, mem, wanted, now):
    for one in all_runtimes:
        for g in one.records(mem):
            if wanted is not None and not wanted(g):
                continue
            labels = ", ".join(f"{k}={v}" for k, v in green.labels_of(g))
            since = f", {duration(now - g.since_ns)}" if g.state_name in ("waiting", "runnable") and g.since_ns else ""
            file, line, _ = green.place(g.where)
            name = f' "{g.name_text}"' if g.name_text else ""
            print(f"{g.label}{name} [{g.doing}{since}]{' ' + labels if labels else ''}, started at {file}:{line}")


OPTIONS_HELP = """\
Those with the same state, stack and start place are one entry; the largest group comes first.
Frames have the numbers that `bt` gives them after `green-thread ID`. Frames of the library are left
out.

  -all           one line for each green thread
  -state STATE   only these: runnable, running, waiting, "in call", or a wait such as "chan receive"
  -name GLOB     only those whose name matches
  -label KEY[=VALUE]
                 only those with this label
  -at FILE[:LINE]
                 only those started there
  -groups N      show at most N groups (30)
  -frames N      show at most N frames of a group (8)"""


def print_list(arguments):
    """Prints the list that a command asks for by its arguments, a list of words."""
    o = parser().parse_args(arguments)
    filtered = o.state or o.name is not None or o.label or o.at
    wanted = (lambda g: green.matches(g, o)) if filtered else None
    all_runtimes = green.runtimes()
    if not all_runtimes:
        print("No runtime of weft has been started, or all have ended.")
        return
    now = green.now_ns(all_runtimes)
    with green.memory() as mem:
        if o.all:
            print_all(all_runtimes, mem, wanted, now)
        else:
            print_groups(all_runtimes, mem, wanted, now, o)

