#!/usr/bin/env python3
"""forms_test.py: what the site makes of Markdown, and of the comments and signatures of headers."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import header_text  # noqa: E402
import markdown_forms  # noqa: E402

HEADER = """// a.h: things of a kind,
// and others.
//
// A thing<T> has a size_t, see b.h and docs/x.md:
//
//     thing<int> t;
//
// - one
// - two, which
//   goes on
//
// Invariants:  I1. not for users
// Threads:     any. See: docs/y.md
#pragma once

namespace weft {

enum class state : int { first, second };

/// Does it. Throws nothing.
template <typename T>
    requires detail::fine<T>
[[nodiscard]] int run(T&& f = {},
                      int b = 0) noexcept {
    return b;
}
int run_again(int c) WEFT_REQUIRES(a, b);

class thing {
public:
    thing() : a_(0) {}
    int a;  ///< of a thing
    friend struct detail::access;
    explicit thing(detail::state* s);

private:
    class inner {};
};

typedef struct c_thing {
    int a;
} c_thing_t;
"""


class Forms(unittest.TestCase):
    def test_lists(self):
        for text, wanted in (("a\n- b\n- c\n", "a\n\n- b\n- c\n"),
                             ("- a\n  b\n  - c\n    d\n- e\n", "- a\n    b\n    - c\n        d\n- e\n"),
                             ("1. a\n\n   b\n", "1. a\n\n    b\n"),
                             ("- a\n  ```\n  x\n    y\n  ```\n", "- a\n    ```\n    x\n      y\n    ```\n"),
                             ("- a\n\nb\n", "- a\n\nb\n"),
                             ("```\na\n- b\n```\n", "```\na\n- b\n```\n"),
                             ("| `a\\|b` | c\\|d |\n", "| `a|b` | c\\|d |\n")):
            self.assertEqual(markdown_forms.for_mkdocs(text), wanted)

    def test_head(self):
        header = header_text.header(HEADER)
        self.assertEqual(header.title, "Things of a kind, and others.")
        self.assertEqual(header.see, ["docs/y.md"])
        self.assertEqual(header.head, "A `thing<T>` has a `size_t`, see \x01b.h\x01 and \x01docs/x.md\x01:\n\n```cpp\nthing<int> t;\n```\n\n"
                         "-   one\n-   two, which goes on\n\nThreads: any.")

    def line(self, text):
        return next(i for i, line in enumerate(HEADER.splitlines(), start=1) if text in line)

    def test_declarations(self):
        header = header_text.header(HEADER)
        run, again, thing = self.line("int run("), self.line("run_again"), self.line("class thing")
        self.assertEqual(header.comment(run), "Does it. Throws nothing.")
        self.assertEqual(header.signature(run, "function"), "template <typename T>\n    requires /* unspecified */\n[[nodiscard]] int run(T&& f = {},\n"
                         "                      int b = 0) noexcept;")
        self.assertIsNone(header.comment(again))
        self.assertEqual(header.signature(again, "function"), "int run_again(int c);")
        self.assertEqual(header.signature(thing, "class"), "class thing")
        self.assertEqual(header.signature(self.line("thing()"), "function"), "thing();")
        self.assertEqual(header.comment(self.line("int a;")), "of a thing")
        self.assertEqual(header.signature(self.line("enum class"), "enum"), "enum class state : int { first, second };")

    def test_what_is_for_the_runtime(self):
        header = header_text.header(HEADER)
        self.assertTrue(header.is_unusable(self.line("friend struct"), "friend"))
        self.assertTrue(header.is_unusable(self.line("explicit thing"), "function"))
        self.assertFalse(header.is_unusable(self.line("thing()"), "function"))
        self.assertTrue(header.is_private(self.line("class inner")))
        self.assertFalse(header.is_private(self.line("class thing")))

    def test_c(self):
        header = header_text.header(HEADER)
        begin = self.line("struct c_thing")
        self.assertEqual(header.opening(self.line("} c_thing_t")), begin)
        self.assertEqual(header.block(begin), "typedef struct c_thing {\n    int a;\n} c_thing_t;")


if __name__ == "__main__":
    unittest.main()
