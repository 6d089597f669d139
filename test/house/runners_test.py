#!/usr/bin/env python3
"""runners_test.py: the verdicts of mutant.py, spin_run.py and run_example.py, and the hashes of
closure.py.
"""
import os
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import closure  # noqa: E402
import mutant  # noqa: E402
import run_example  # noqa: E402
import spin_run  # noqa: E402


class Mutant(unittest.TestCase):
    def test_a_surviving_mutant_fails(self):
        self.assertFalse(mutant.verdict(0)[0])

    def test_a_caught_mutant_passes(self):
        self.assertTrue(mutant.verdict(1)[0])
        self.assertTrue(mutant.verdict(-signal.SIGABRT)[0])

    def test_a_crash_proves_nothing(self):
        self.assertFalse(mutant.verdict(-signal.SIGSEGV)[0])

    def test_a_model_ends_with_1_or_proves_nothing(self):
        self.assertTrue(mutant.verdict(1, model=True)[0])
        for ended in (0, 2, -signal.SIGABRT, -signal.SIGSEGV):
            self.assertFalse(mutant.verdict(ended, model=True)[0])


class Spin(unittest.TestCase):
    complete = "State-vector 28 byte, depth reached 10, errors: 0\n"
    wrong = "pan:1: assertion violated\nState-vector 28 byte, depth reached 10, errors: 1\n"

    def test_reads_the_comment_lines(self):
        text = '/* spin: a expect=ok pan="-a -m9" defs="-DX -DY" cc="-O2" */\n/* spin: b expect=fail */\nint x;\n'
        self.assertEqual(spin_run.runs(text), {
            "a": {"expect": "ok", "pan": "-a -m9", "defs": "-DX -DY", "cc": "-O2"}, "b": {"expect": "fail"}})

    def test_a_misspelt_field_is_an_error(self):
        with self.assertRaises(ValueError):
            spin_run.runs("/* spin: a expect=okay */")
        with self.assertRaises(ValueError):
            spin_run.runs('/* spin: a expect=ok flags="-a" */')

    def test_verdicts(self):
        self.assertTrue(spin_run.verdict(self.complete, "ok")[0])
        self.assertFalse(spin_run.verdict(self.wrong, "ok")[0])
        self.assertTrue(spin_run.verdict(self.wrong, "fail")[0])
        self.assertFalse(spin_run.verdict(self.complete, "fail")[0])

    def test_an_incomplete_search_is_no_proof(self):
        self.assertFalse(spin_run.verdict("error: max search depth too small\n" + self.complete, "ok")[0])
        self.assertFalse(spin_run.verdict("pan: out of memory\n", "ok")[0])


class Example(unittest.TestCase):
    def test_shows_the_first_line_that_differs(self):
        self.assertIsNone(run_example.difference("a\nb\n", "a\nb\n"))
        self.assertIn("line 2", run_example.difference("a\nb\n", "a\nc\n"))
        self.assertIn("line 2", run_example.difference("a\nb\n", "a\n"))

    def test_a_pattern_stands_for_what_varies(self):
        self.assertIsNone(run_example.difference("took {{[0-9]+}} ms (all)\n", "took 31 ms (all)\n"))
        self.assertIsNotNone(run_example.difference("took {{[0-9]+}} ms (all)\n", "took x ms (all)\n"))

    def test_runs_a_program_and_compares(self):
        with tempfile.NamedTemporaryFile("w", suffix=".expected") as expected:
            expected.write("hello {{[a-z]+}}\n")
            expected.flush()
            self.assertEqual(run_example.run(["echo", "hello you"], expected.name), [])
            self.assertNotEqual(run_example.run(["echo", "goodbye"], expected.name), [])
            self.assertNotEqual(run_example.run(["false"], None), [])


class Digest(unittest.TestCase):
    def same(self, one, other):
        return closure.without_comments(one) == closure.without_comments(other)

    def test_comments_and_indentation_do_not_count(self):
        self.assertTrue(self.same("int a;  // one\n\n/* two\n three */\nint b;\n", "int a;\n   int b;  // other\n"))

    def test_line_breaks_do_not_count_but_for_directives(self):
        self.assertTrue(self.same("int a =\n    1;\n", "int a = 1;\n"))
        self.assertFalse(self.same("#define A 1\nint b;\n", "#define A 1 int b;\n"))
        self.assertFalse(self.same("int a;\n#if B\n", "int a; #if B\n"))

    def test_docstrings_and_hash_comments_do_not_count(self):
        self.assertEqual(closure.python_code('"""a"""\nx = 1  # b\n'), closure.python_code('"""c"""\nx = 1\n'))
        self.assertNotEqual(closure.python_code("x = 1\n"), closure.python_code("x = 2\n"))
        self.assertEqual(closure.without_hash_comments('set(a "#b")  # c\n# d\n'), 'set(a "#b")')

    def test_code_counts_where_it_looks_like_a_comment(self):
        self.assertFalse(self.same('f("//a");', 'f("//b");'))
        self.assertFalse(self.same('f(R"x(/* " a */)x");', 'f(R"x(/* " b */)x");'))
        self.assertFalse(self.same("int a = 1'000; /* x */ int b;", "int a = 1'000; /* x */ int c;"))

    def test_what_tools_read_counts(self):
        self.assertFalse(self.same("a();  // NOLINT(x)\n", "a();\n"))
        self.assertFalse(self.same("// mutants: A\n", "// mutants: B\n"))
        self.assertFalse(self.same("/* spin: a expect=ok */\n", "/* spin: a expect=fail */\n"))


if __name__ == "__main__":
    unittest.main()
