"""commands.py: info green-threads, green-thread, green-thread apply, off, deadlock."""
import gdb

from weft_gdb import selection
from weft_green import green, layout, listing, waits


class info_green_threads(gdb.Command):
    __doc__ = f"""List the green threads of the program: weft's.
Usage: info green-threads [OPTION]...

{listing.OPTIONS_HELP}"""

    def __init__(self):
        super().__init__("info green-threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        listing.print_list(gdb.string_to_argv(argument))


def current():
    """The selected green thread, or the one that the current thread runs; None: neither."""
    if selection.CURRENT is not None and selection.CURRENT.is_here():
        return selection.CURRENT.g
    thread = gdb.selected_thread()
    if thread is None:
        return None
    for one in green.runtimes():
        for address, m in one.runners().items():
            if int(layout.load(m["thread_id"])) in thread.ptid[1:]:
                return green.at_address(address)
    return None


class green_thread(gdb.Command):
    """Show or select a green thread of weft.
Usage: green-thread [ID]

With an ID, of `info green-threads`, shows that green thread's frames: bt, up, down, frame, info
locals and expressions work as in a thread. Frame 0 belongs to the thread that was current; the
green thread's begin at 1. One that runs selects its thread.

The selection ends when the program continues. `green-thread off` ends it at once.

In a program with several runtimes, RUNTIME.ID is a green thread of that runtime."""

    def __init__(self):
        super().__init__("green-thread", gdb.COMMAND_STACK, gdb.COMPLETE_NONE, True)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        numbers = gdb.string_to_argv(argument)
        if len(numbers) > 1:
            raise gdb.GdbError("weft: green-thread takes one ID; for several: green-thread apply ID... COMMAND")
        if not numbers:
            g = current()
            print(f"[Current green thread is {g.label}]" if g else "No green thread is selected, and the current thread runs none.")
            return
        g = green.find(numbers[0])
        selection.show(g)
        print(f"[Switching to {g.title}]")
        gdb.execute("frame", from_tty)


class green_thread_off(gdb.Command):
    """Show the current thread's own frames again.
Usage: green-thread off"""

    def __init__(self):
        super().__init__("green-thread off", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        selection.forget()
        gdb.execute("frame", from_tty)


class green_thread_apply(gdb.Command):
    """Apply a command to several green threads.
Usage: green-thread apply all|ID... COMMAND

Those that have not started are left out by `all`."""

    def __init__(self):
        super().__init__("green-thread apply", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        numbers, command = green.split_apply(argument)
        with selection.kept():
            for g in green.chosen(numbers):
                print(f"\nGreen thread {g.title[len('green thread '):]}:")
                try:
                    selection.show(g)
                    gdb.execute(command, from_tty)
                except gdb.error as error:
                    print(error)


class green_thread_deadlock(gdb.Command):
    """Print which green thread waits for which, as far as owners are known.
Usage: green-thread deadlock

Known are: the green thread that must fulfil a future of weft::async; the children that a wait group
or scope may wait for; and the holder of a mutex or shared_mutex, if the program uses priority
classes or runs with RUN_DEBUG=lockowners=1. Cycles come last."""

    def __init__(self):
        super().__init__("green-thread deadlock", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        self.dont_repeat()
        waits.print_graph()


def install():
    info_green_threads()
    green_thread()
    green_thread_off()
    green_thread_apply()
    green_thread_deadlock()
