"""Tests of observe.py: what its report says, and that a missed bar fails a quick run."""

import contextlib
import io
import unittest
from unittest import mock

import observe


def silently(call, *arguments):
    with contextlib.redirect_stdout(io.StringIO()):
        return call(*arguments)


def section(*met):
    made = observe.Section("Title", "Some text.")
    for value in met:
        silently(lambda value=value: made.add("what", "5 ns", bar="at most 6 ns", met=value))
    silently(lambda: made.add("no bar", "5 ns"))
    return made


class ObserveTest(unittest.TestCase):
    def test_a_spread_is_the_median_and_the_quartiles(self):
        self.assertEqual(observe.spread([5, 1, 2, 4, 3], " ns"), "3 ns (2 to 4)")

    def test_a_percentage_has_a_sign(self):
        self.assertEqual(observe.percent([1.0, -1.0, 2.0]), "+1.0 % (+0.0 to +1.5)")

    def test_variants_run_in_different_orders(self):
        orders = [observe.in_turn([1, 2, 3], index) for index in range(20)]
        self.assertEqual({tuple(sorted(order)) for order in orders}, {(1, 2, 3)})
        self.assertEqual(len({tuple(order) for order in orders}), 6)

    def test_differences_are_those_of_a_round(self):
        found = {("weft", "none"): [10, 100], ("weft", "recorder"): [13, 104]}
        self.assertEqual(observe.differences(found, "weft", "recorder"), [3, 4])
        self.assertEqual([round(value, 6) for value in observe.ratios(found, "weft", "recorder")], [30, 4])

    def test_the_page_says_which_bars_are_missed(self):
        text = observe.page([section(True, False, None)], [("date", "2026-01-01")])
        rows = [line for line in text.splitlines() if line.startswith("| what")]
        self.assertEqual([row.split("|")[-2].strip() for row in rows], ["met", "**missed**", "not decided"])
        self.assertIn("| no bar | 5 ns | – | – |  |", text)

    def test_a_bar_is_met_or_missed_only_if_nearly_all_rounds_say_so(self):
        self.assertIs(observe.at_most([1, 1, 1, 1, 1, 1, 1, 1, 9], 2), True)
        self.assertIs(observe.at_most([3, 3, 3, 3, 3, 3, 3, 3, 1], 2), False)
        self.assertIs(observe.at_most([1, 1, 1, 1, 3, 3, 3, 3, 3], 2), None)
        self.assertIs(observe.at_most([1, 1, 1], 2), True)
        self.assertIs(observe.at_most([1, 1, 3], 2), None)

    def test_a_section_is_replaced(self):
        first, second = section(True), section(True)
        second.title = "Other"
        text = observe.page([first, second], [("date", "2026-01-01")])
        again = section(False)
        changed = observe.page_with(text, again, "Measured later.")
        self.assertEqual(changed.count("## Title\n"), 1)
        self.assertIn("**missed**", changed.split("## Other")[0])
        self.assertIn("Measured later.\n\n## Other\n", changed)
        self.assertEqual(changed.split("## Other")[1], text.split("## Other")[1])
        again.title = "Unknown"
        with self.assertRaises(observe.Failed):
            observe.page_with(text, again, "")

    def quick(self, *sections):
        with mock.patch.object(observe, "off", return_value=sections[0]), mock.patch.object(observe, "sizes", return_value=sections[1]), \
                mock.patch("sys.argv", ["observe.py", "--quick", "--build", "somewhere"]):
            return observe.main()

    def test_a_quick_run_fails_if_a_bar_is_missed(self):
        self.assertEqual(self.quick(section(True), section(True, None)), 0)
        self.assertEqual(self.quick(section(True), section(True, False)), 1)
        self.assertEqual(self.quick(section(False), section(True)), 1)

    def test_a_missing_program_is_named(self):
        with mock.patch("sys.argv", ["observe.py", "--quick", "--build", "/nowhere"]), contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(observe.main(), 2)
        self.assertIn("/nowhere/bench/weft_budget", said.getvalue())


if __name__ == "__main__":
    unittest.main()
