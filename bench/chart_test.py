#!/usr/bin/env python3
"""chart_test.py: bars are as long as their figures are large, also where those are nothing."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chart  # noqa: E402

NAMES = {"weft": "weft", "go": "Go"}


def widths(values):
    """Of the bars of one row, P=1, as drawn."""
    drawn = chart.bars("a title", [("a row", "ns", {1: values})], NAMES, str)
    return [float(width) for width in re.findall(r'<rect[^>]* width="([0-9.]+)" height="[0-9.]+"[^>]*fill="#', drawn)]


class Bars(unittest.TestCase):
    def test_the_larger_one_is_longer(self):
        ours, others = widths({"weft": 2, "go": 4})
        self.assertAlmostEqual(others / ours, 2, places=1)

    def test_nothing_at_all_is_drawn(self):
        self.assertEqual(widths({"weft": 0, "go": 0}), [1, 1])


if __name__ == "__main__":
    unittest.main()
