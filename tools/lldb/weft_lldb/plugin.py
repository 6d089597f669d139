"""plugin.py: the operating-system plug-in of lldb: shows the chosen green threads as threads.

lldb loads it by the setting target.process.python-os-plugin-path, which selection.py sets.
"""
import lldb

from weft_lldb import debugger, selection


class OperatingSystemPlugIn:
    """The name and the methods are those that lldb calls."""

    def __init__(self, process, *_arguments):
        # lldb 14 passes the process without its class.
        self.process = process if isinstance(process, lldb.SBProcess) else None
        self.target = process.GetTarget()

    def use(self):
        debugger.use(self.target)

    def get_thread_info(self):
        self.use()
        try:
            return selection.thread_infos()
        except (debugger.failure, *debugger.unreadable):
            return []

    def get_register_info(self):
        self.use()
        return selection.register_info()

    def get_register_data(self, number):
        self.use()
        return selection.register_data(number)

    def create_thread(self, number, _address):
        self.use()
        g = selection.shown().record(number)
        return selection.thread_info(number, g) if g is not None else None

    def does_plugin_report_all_threads(self):
        return False    # lldb adds those of the process
