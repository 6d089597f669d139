#!/usr/bin/env python3
"""tidy_test.py: tidy.py reports what violates each rule, and nothing else."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tidy  # noqa: E402

HEAD = "// a.cc: a file.\n"


class Tidy(unittest.TestCase):
    def complaints(self, path, text, extra=None):
        with tempfile.TemporaryDirectory() as root:
            for name, content in {path: text, **(extra or {})}.items():
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(content)
            return tidy.check(root)[0]

    def allowed(self, path, text, extra=None):
        self.assertEqual(self.complaints(path, text, extra), [])

    def caught(self, path, text, word):
        found = self.complaints(path, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(word, found[0])

    def test_lines(self):
        self.allowed("src/a.cc", HEAD + "x" * 160 + "\n")
        self.caught("src/a.cc", HEAD + "x" * 161 + "\n", "columns")
        self.caught("src/a.cc", HEAD + "\tx;\n", "tab")
        self.caught("src/a.cc", HEAD + "x; \n", "blanks")
        self.caught("src/a.cc", HEAD + "x;", "no newline")
        self.allowed("docs/a.md", "x" * 300 + "\n")
        self.caught("README.md", "x\n" * 151, "151 lines")
        self.allowed("test/fuzz/corpus/a/x", "\t\r\nx ")
        self.allowed("bench/peers/go/a.go", "\tx\n")

    def test_prose(self):
        words = "word " * 20 + "ends"
        self.caught("docs/a.md", words + "\n", "104 columns")
        self.caught("docs/a.md", "- " + words + "\n", "prose")
        self.allowed("docs/a.md", "| " + words + " |\n```\n" + words + "\n```\n")
        self.caught("src/a.cc", HEAD + "// " + words + "\n", "prose")
        self.caught("test/a.h", "    /// " + words + "\n", "prose")
        self.allowed("src/a.cc", HEAD + "//  1  " + words + "    2\n//     " + words + ";\n")
        self.allowed("src/a.cc", HEAD + "int x;  // " + words + "\n")

    def test_heads(self):
        self.caught("src/b.h", HEAD, "begin with")
        self.caught("include/weft/b.h", "#pragma once\n", "begin with")
        self.allowed("src/base/b.h", "// b.h: what it is.\n")
        self.allowed("test/unit/b.cc", "int x;\n")

    def test_sizes(self):
        self.allowed("src/a.cc", HEAD + "x;\n" * 599)
        self.caught("src/a.cc", HEAD + "x;\n" * 600, "split it")
        self.allowed("src/a_test.cc", "// a_test.cc: tests.\n" + "x;\n" * 900)

    def test_banned_words(self):
        self.caught("src/sched/a.cc", HEAD + "std::mutex m;\n", "OS thread")
        self.caught("src/sched/a.cc", HEAD + "std::thread t;\n", "threads come from os/")
        self.caught("src/sched/a.cc", HEAD + "int x = rand();\n", "replayed")
        self.caught("include/weft/a.cc", HEAD + "auto x = std::chrono::steady_clock::now();\n", "replayed")
        self.caught("src/a.cc", HEAD + "// FIX" "ME later\n", "finish it")
        self.caught("src/a.cc", HEAD + "// TO" "DO later\n", "without (name)")
        self.allowed("src/a.cc", HEAD + "// std::mutex would block\nint operand(int); int y = operand(1);\n")
        self.allowed("src/os/a.cc", HEAD + "auto x = std::chrono::steady_clock::now();\n")
        self.allowed("src/a_test.cc", "// a_test.cc: tests.\nstd::mutex m;\n")
        self.allowed("src/observe/a.cc", "// a.cc: threads.\nstd::mutex m;\nstd::thread t;\n")
        self.allowed("examples/a.cc", "std::thread t;\n")

    def test_memory_orders(self):
        self.allowed("src/a.cc", HEAD + "x.load(acquire);  // A1\n")
        self.allowed("src/a.cc", HEAD + "x.load(seq_cst);\nm.release();\nx.load();\n")
        self.allowed("src/a.cc", HEAD + "inline constexpr auto relaxed = std::memory_order_relaxed;\n")
        self.caught("src/a.cc", HEAD + "x.load(acquire);\n", "without a reason")
        self.caught("src/a.cc", HEAD + "x.store(1, std::memory_order_release);\n", "without a reason")
        self.allowed("src/a.cc", HEAD + "// relaxed: only we write it\nif (x.load(std::memory_order_relaxed) != 0)\n")
        self.allowed("src/a.cc", HEAD + "if (x.load(std::memory_order_relaxed) != 0)\n    f();  // relaxed: a look\n")
        self.caught("src/a.cc", HEAD + "// a remark\nx.store(1, std::memory_order_release);\n", "without a reason")
        self.caught("src/a.cc", HEAD + "x.compare_exchange_strong(a, b, acq_rel, acquire);\n", "without a reason")
        self.caught("include/weft/a.cc", HEAD + "x.fetch_add(1,\n    relaxed);\n", "a.cc:3")
        self.allowed("src/a_test.cc", "// a_test.cc: tests.\nx.load(acquire);\n")

    def test_what_only_its_author_understands(self):
        self.caught("src/a.cc", HEAD + "// see /ho" "me/me/notes\n", "one machine")
        self.caught("src/a.cc", HEAD + "// see issue " "12\n", "a number")
        self.caught("src/a.cc", HEAD + "// as in D" "7\n", "no document here")
        self.allowed("src/a.cc", HEAD + "// as in D" "7\n", {"docs/design.md": "**D7 Idle.** How it sleeps.\n"})
        self.allowed("src/a.cc", HEAD + "// d8 to d15 are saved\n")

    def test_addresses(self):
        self.caught("docs/a.md", "get https://files.somewhere.invalid/x.tar\n", "address")
        self.caught("setup.sh", "curl downloads.somewhere.io\n", "address")
        self.allowed("docs/a.md", "see <https://lwn.net/Articles/1/> and 127.0.0.1 and std::net.io()\n")
        self.allowed("examples/a.cc", "x.io(); // http://localhost:8080/\n")

    def test_links(self):
        self.caught("README.md", "[a](none.md)\n", "does not exist")


if __name__ == "__main__":
    unittest.main()
