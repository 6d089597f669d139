#!/usr/bin/env python3
"""words_test.py: words.py reports what violates each rule, and nothing else."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import words  # noqa: E402


class Words(unittest.TestCase):
    def found(self, path, text):
        return list(words.check_file(path, text))

    def test_catches_a_word_in_a_comment(self):
        found = self.found("src/a.cc", "// a.cc: x.\nint a;  // for whoever calls\n")
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("src/a.cc:2: "), found)

    def test_leaves_code_and_strings_alone(self):
        self.assertEqual(self.found("src/a.cc", 'int who = 1; f("nobody"); // calls `who`\n'), [])

    def test_catches_a_word_in_markdown_but_not_in_code_or_tables(self):
        self.assertEqual(self.found("docs/a.md", "# Who\n\n```\nwho\n```\n\n| who |\n|---|\n"), [])
        self.assertEqual(len(self.found("docs/a.md", "Tell who waits.\n")), 1)

    def test_catches_a_long_sentence_over_lines(self):
        half = "word " * words.LONGEST
        self.assertEqual(len(self.found("docs/a.md", f"Begin {half}\nend.\n")), 1)
        self.assertEqual(len(self.found("src/a.h", f"// {half}\n// and more.\n")), 1)

    def test_sentences_end_with_a_stop_a_list_item_or_an_empty_line(self):
        half = "word " * (words.LONGEST - 1)
        self.assertEqual(self.found("docs/a.md", f"{half}.\n{half.capitalize()}.\n"), [])
        self.assertEqual(self.found("docs/a.md", f"- {half}\n- {half}\n"), [])
        self.assertEqual(self.found("docs/a.md", f"{half}\n\n{half}\n"), [])

    def test_a_trailing_comment_begins_a_sentence(self):
        half = "word " * (words.LONGEST - 1)
        self.assertEqual(self.found("src/a.h", f"int a;  // {half}\nint b;  // {half}\n"), [])

    def test_a_file_of_the_list_is_left_alone_until_it_passes(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "tools"))
            os.makedirs(os.path.join(root, "docs"))

            def write(path, text):
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)

            write("docs/a.md", "Tell who waits.\n")
            write(words.LEFT, "docs/a.md\n")
            self.assertEqual(words.check(root)[0], [])
            write("docs/a.md", "Name the waiter.\n")
            self.assertEqual(len(words.check(root)[0]), 1)


if __name__ == "__main__":
    unittest.main()
