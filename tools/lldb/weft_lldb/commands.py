"""commands.py: green-threads, and green-thread with its subcommands."""
import contextlib
import io
import shlex

from weft_green import green, listing, waits
from weft_lldb import debugger, selection

USAGE = "weft: usage: green-thread [ID], or green-thread select|apply|off|deadlock ...; see: help green-thread"


def run(function, command, context, result):
    """Runs a command. What it prints is the command's output."""
    printed = io.StringIO()
    try:
        debugger.use(context.GetTarget())
        if not debugger.process().IsValid():
            raise debugger.failure("weft: there is no process and no core file to read")
        with contextlib.redirect_stdout(printed):
            function(command)
    except (debugger.failure, *debugger.unreadable) as error:
        text = str(error)
        result.SetError(text if text.startswith("weft: ") else f"weft: {text}")
    result.PutCString(printed.getvalue().rstrip("\n"))


def words(command):
    try:
        return shlex.split(command)
    except ValueError as error:
        raise debugger.failure(f"weft: {error}") from None


def list_all(command):
    listing.print_list(words(command))


def show_one(number):
    g = green.find(number)
    thread = selection.choose(g)
    debugger.process().SetSelectedThread(thread)
    print(f"[Switching to {g.title}]")
    print(selection.execute("frame info", thread), end="")


def print_current():
    g = selection.selected()
    print(f"[Current green thread is {g.label}]" if g else "No green thread is selected, and the current thread runs none.")


def choose(numbers):
    if not numbers:
        raise debugger.failure("weft: usage: green-thread select ID...")
    for number in numbers:
        g = green.find(number)
        thread = selection.choose(g)
        print(f"thread #{thread.GetIndexID()}: {g.title}")


def off(numbers):
    threads = list(selection.shown().by_thread)
    if numbers:
        wanted = [selection.shown().thread_of(green.find(number)) for number in numbers]
        missing = [number for number, thread in zip(numbers, wanted) if thread is None]
        if missing:
            raise debugger.failure(f"weft: green thread {missing[0]} is not shown as a thread")
        threads = wanted
    if threads:
        selection.hide(threads)
    print(f"{len(threads)} green thread{'' if len(threads) == 1 else 's'} hidden")


def apply(rest):
    """Shows them in batches, because lldb keeps the threads until it asks for them again."""
    numbers, command = green.split_apply(rest)
    before = set(selection.shown().by_thread)
    with selection.kept():
        for g in green.chosen(numbers):
            print(f"\nGreen thread {g.title[len('green thread '):]}:")
            try:
                if len(selection.shown().by_thread) >= selection.SHOWN_MAX:
                    selection.hide(set(selection.shown().by_thread) - before)
                thread = selection.choose(g)
                debugger.process().SetSelectedThread(thread)
                print(selection.execute(command, thread), end="")
            except debugger.failure as error:
                print(error)
    added = set(selection.shown().by_thread) - before
    if added:
        selection.hide(added)


def one(command):
    first, _, rest = command.strip().partition(" ")
    if first == "apply":
        apply(rest)
    elif first == "select":
        choose(words(rest))
    elif first == "off":
        off(words(rest))
    elif first == "deadlock" and not rest.strip():
        waits.print_graph()
    elif not first:
        print_current()
    elif first[0].isdigit() and not rest.strip():
        show_one(first)
    else:
        raise debugger.failure(USAGE)


class green_threads:
    """green-threads"""

    def __init__(self, _debugger, _internal_dict):
        pass

    def __call__(self, _debugger, command, context, result):
        run(list_all, command, context, result)

    def get_short_help(self):
        return "List the green threads of the program: weft's."

    def get_long_help(self):
        return f"List the green threads of the program: weft's.\n\ngreen-threads [OPTION]...\n\n{listing.OPTIONS_HELP}"


class green_thread:
    """green-thread"""

    def __init__(self, _debugger, _internal_dict):
        pass

    def __call__(self, _debugger, command, context, result):
        run(one, command, context, result)

    def get_short_help(self):
        return "Show or select a green thread of weft."

    def get_long_help(self):
        return f"""Show or select a green thread of weft.

green-thread [ID]             Shows the frames of a parked one as those of a thread, and selects that.
                              One that runs selects its thread. Without an ID: which one is selected.
green-thread select ID...     Shows these as threads, at every stop at which they are parked:
                              at most {selection.SHOWN_MAX}.
green-thread off [ID]...      Hides these, or all.
green-thread apply all|ID... COMMAND
                              A command for each; those that have not started are left out by `all`.
green-thread deadlock         Which green thread waits for which, as far as owners are known: the one
                              that must fulfil a future of weft::async; the children that a wait group
                              or scope may wait for; and the holder of a mutex or shared_mutex, if the
                              program uses priority classes or runs with RUN_DEBUG=lockowners=1.
                              Cycles come last.

IDs are those of green-threads. In a program with several runtimes, RUNTIME.ID is a green thread of
that runtime."""


def install(lldb_debugger):
    for name in ("green_threads", "green_thread"):
        lldb_debugger.HandleCommand(f"command script add -o -c weft_lldb.commands.{name} {name.replace('_', '-')}")
