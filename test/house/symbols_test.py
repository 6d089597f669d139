#!/usr/bin/env python3
"""symbols_test.py: symbols.py reports a planted call upwards, and nothing that is allowed."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import symbols  # noqa: E402


class Symbols(unittest.TestCase):
    def complaints(self, user, definer, exceptions=None):
        """user uses a symbol that definer defines."""
        found = {user: (set(), {"f"}), definer: ({"f"}, set())}
        return [complaint for complaint, _ in symbols.check(found, exceptions or {})]

    def allowed(self, user, definer, exceptions=None):
        self.assertEqual(self.complaints(user, definer, exceptions), [])

    def caught(self, user, definer, words, exceptions=None):
        found = self.complaints(user, definer, exceptions)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_down_and_sideways_is_allowed(self):
        self.allowed("sync/mutex.cc", "os/os_linux.cc")
        self.allowed("sync/mutex.cc", "sync/owner.cc")
        self.allowed("context/context.cc", "context/context_x86_64.S")

    def test_up_is_caught(self):
        self.caught("os/os_linux.cc", "sync/mutex.cc", "os/ lies below sync/")
        self.caught("sched/switch.cc", "debug/dump.cc", "src/sched/switch.cc uses {}, which src/debug/dump.cc defines")

    def test_within_the_scheduler_only_listed_calls_point_up(self):
        self.allowed("sched/park.cc", "handoff/injected.cc")
        self.caught("sched/park.cc", "lifecycle/abandon.cc", "sched/ lies below lifecycle/")
        self.caught("context/context.cc", "handoff/injected.cc", "context/ lies below handoff/")

    def test_an_exception_holds_for_one_folder_and_one_source(self):
        one = {("idle", "debug/deadlock.cc"): "a reason"}
        self.allowed("idle/park_m.cc", "debug/deadlock.cc", one)
        found = self.complaints("sched/park.cc", "debug/deadlock.cc", one)
        self.assertEqual(len(found), 2, found)
        self.assertIn("sched/ lies below debug/", found[0])
        self.assertIn("remove the entry", found[1])

    def test_an_exception_that_is_not_needed_is_caught(self):
        self.caught("sync/mutex.cc", "os/os_linux.cc", "remove the entry", {("os", "sync/mutex.cc"): "a reason"})

    def test_what_several_objects_define_counts_for_none(self):
        found = {"os/a.cc": (set(), {"f"}), "sync/b.cc": ({"f"}, set()), "sync/c.cc": ({"f"}, set())}
        self.assertEqual(list(symbols.check(found, {})), [])

    def test_nm_is_read(self):
        text = ["b/a.cc.o:", "f T 0 10", "g U         ", "h W 0 8", "i t 10 4", "j w         ", "", "b/b.S.o:", "g D 0 8", "k B 0 8", "l V 0 4", "f U"]
        found = symbols.read_nm(text, {"b/a.cc.o": "sched/a.cc", "b/b.S.o": "context/b.S"})
        self.assertEqual(found, {"sched/a.cc": ({"f"}, {"g"}), "context/b.S": ({"g", "k"}, {"f"})})

    def test_objects_of_sources_that_are_gone_do_not_count(self):
        with tempfile.TemporaryDirectory() as root:
            built = os.path.join(root, "build", "CMakeFiles", "weft.dir", "src", "os")
            os.makedirs(built)
            os.makedirs(os.path.join(root, "src", "os"))
            for path in ("there.cc.o", "gone.cc.o", "there.cc.d"):
                with open(os.path.join(built, path), "w", encoding="utf-8"):
                    pass
            with open(os.path.join(root, "src", "os", "there.cc"), "w", encoding="utf-8"):
                pass
            found = symbols.object_files(root, os.path.join(root, "build"))
            self.assertEqual(list(found.values()), ["os/there.cc"])


if __name__ == "__main__":
    unittest.main()
