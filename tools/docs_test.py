#!/usr/bin/env python3
"""docs_test.py: docs.py reports what violates each rule, and nothing else."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import docs  # noqa: E402


class Docs(unittest.TestCase):
    def complaints(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return docs.check(root)

    def test_links(self):
        self.assertEqual(self.complaints({"README.md": "[a](docs/a.md#the-way) [b](#top) [c](https://x.y/z)\n# Top\n",
                                          "docs/a.md": "# The `way`\n"}), [])
        self.assertIn("does not exist", self.complaints({"README.md": "[a](src/none.h)\n"})[0])
        self.assertIn("no heading", self.complaints({"README.md": "[a](#there)\n"})[0])
        self.assertEqual(self.complaints({"README.md": "```\n[a](none)\n```\n`[b](none)`\n"}), [])

    def test_named_documents(self):
        self.assertIn("does not exist here", self.complaints({"src/a.h": "// See: docs/none.md\n"})[0])
        self.assertEqual(self.complaints({"src/a.h": "// See: docs/a.md, a.md\n", "docs/a.md": "# A\n"}), [])
        self.assertEqual(self.complaints({"src/a.sh": "ls *.md\n"}), [])

    def test_examples(self):
        block = "<!-- example: examples/a.cc -->\n```cpp\nint main() {}\n```\n"
        self.assertEqual(self.complaints({"README.md": block, "examples/a.cc": "int main() {}\n"}), [])
        self.assertIn("differs", self.complaints({"README.md": block, "examples/a.cc": "int main(){}\n"})[0])
        self.assertIn("differs", self.complaints({"README.md": block, "examples/a.cc": "int main() {}\nint x;\n"})[0])
        self.assertIn("there is no", self.complaints({"README.md": block})[0])
        self.assertIn("no ```cpp block", self.complaints({"README.md": "<!-- example: a.cc -->\ntext\n", "a.cc": "\n"})[0])

    def test_quotes(self):
        source = "int a;\n\nvoid f() {\n    g();\n    h();\n}\nint b;\n"
        for block, wrong in (("void f() {\n    g();", None),
                             ("g();\nh();", None),
                             ("…\n}\nint b;", None),
                             ("int a;\n…\nh();\n// …\nint b;", None),
                             ("g();\nint b;", "g();"),
                             ("int b;\n…\nint a;", "int a;"),
                             ("k();", "k();")):
            found = self.complaints({"README.md": f"<!-- lines: a.cc -->\n```cpp\n{block}\n```\n", "a.cc": source})
            self.assertEqual(found, [] if wrong is None else [
                f'README.md:1: a.cc does not contain these lines, starting at "{wrong}": copy them from the file'])
        self.assertIn("there is no", self.complaints({"README.md": "<!-- lines: a.cc -->\n```\nx\n```\n"})[0])
        for text in "text\n", "```\n```\n", "```\nx\n":
            self.assertIn("no block", self.complaints({"README.md": "<!-- lines: a.cc -->\n" + text, "a.cc": source})[0])

    def test_gaps(self):
        missing = "docs/a.md: no monitor yet\n"
        text = "There is no monitor yet.\n"
        self.assertEqual(self.complaints({"docs/a.md": text, "tools/missing.txt": "# why\n\n" + missing}), [])
        self.assertEqual(self.complaints({"docs/a.md": "It is there.\n```\nnot yet\n```\n"}), [])
        for text in text, "Not there\n", "Their number is fixed\n", "| 1 | x | waits for sysmon |\n":
            self.assertIn("docs/a.md:1: says that", self.complaints({"docs/a.md": text})[0])
            # Listed for another file, and with other words.
            self.assertIn("docs/a.md:1: says that", self.complaints({"docs/a.md": text, "tools/missing.txt": "docs/b.md: t\n"})[0])
        self.assertEqual(self.complaints({"docs/a.md": "Here.\n", "tools/missing.txt": missing}), [
            "tools/missing.txt:1: docs/a.md no longer says this: remove the line"])
        # An entry without words allows nothing.
        self.assertEqual(len(self.complaints({"docs/a.md": "Not yet.\n", "tools/missing.txt": "docs/a.md: \n"})), 2)

    def test_map(self):
        files = {"src/sched/g.h": "", "src/idle/idle.cc": "", "include/weft/go.h": ""}
        text = "| `src/sched/` | G, in `g.h` |\n| `src/idle/` | `idle/idle.cc`, `x_test.cc` |\n"
        self.assertEqual(self.complaints({"ARCHITECTURE.md": text, **files}), [])
        self.assertEqual(self.complaints({"ARCHITECTURE.md": "```\n`src/idle/`\n```\n`src/sched/`, `old.cc`, `src/sched/old.h`, `src/gone/`\n", **files}), [
            "ARCHITECTURE.md: does not name src/idle/: add it", "ARCHITECTURE.md: names old.cc, which does not exist",
            "ARCHITECTURE.md: names src/gone/, which does not exist", "ARCHITECTURE.md: names src/sched/old.h, which does not exist"])

    def test_contents(self):
        pages = {"docs/a.md": "", "docs/b/c.md": "", "docs/home.md": ""}
        listed = "[a](a.md)\n<!-- pages: b/*.md d.md -->\n"
        self.assertEqual(self.complaints({"docs/README.md": listed, **pages}), [])
        self.assertEqual(self.complaints({"docs/README.md": "<!-- pages: b/*.md -->\n", **pages}),
                         ["docs/README.md: does not list docs/a.md: add a row for it"])

    def test_figures(self):
        source = ("| | unit | P | weft | Go |\n|---|---|---|---|---|\n| a <sub>b</sub> | ns | 1 | 1 | 2 |\n"
                  "|  | ns | 2 | **3** | 4 <sub>×0.75</sub> |\n| c | ns | 2 | 5 | 6 |\n")
        for rows, wrong in (("| a | ns | 3 | 4 | — |\n| c | ns | 5 | 6 | — |\n", None),
                            ("| a | ns | 1 | 4 | — |\n", "a, weft: 1 here, 3 in docs/x.md"),
                            ("| a | ns | 3 | 4 | 5 |\n", "a, tokio: 5 here, — in docs/x.md"),
                            ("| a | ms | 3 | 4 | — |\n", 'docs/x.md has no row "a" in ms with P=2'),
                            ("", "no table follows")):
            table = "| | unit | weft | Go | tokio |\n|---|---|---|---|---|\n" + rows
            found = self.complaints({"README.md": "<!-- figures: docs/x.md P=2 -->\n" + table, "docs/x.md": source})
            self.assertEqual(found, [] if wrong is None else ["README.md:1: " + wrong])


if __name__ == "__main__":
    unittest.main()
